// mario_native.h over the C++ inside: environments.
#include <stdexcept>

#include "boundary_batch.h"
#include "boundary_guard.h"
#include "envs/environments.h"
#include "mario_native.h"

using mario::envs::Environments;
using mario::envs::Outputs;
using mario::envs::ProgressMap;

struct mario_envs {
    Environments environments;
};

extern "C" {

size_t mario_env_rules_bytes(void) { return sizeof(mario_env_rules); }

size_t mario_episode_bytes(void) { return sizeof(mario_episode); }

size_t mario_map_area_bytes(void) { return sizeof(mario_map_area); }

int32_t mario_envs_create(mario_batch* batch, const mario_env_rules* rules, const uint8_t* action_buttons, mario_envs** envs) {
    return mario::guarded([&] {
        *envs = new mario_envs{Environments(batch->batch, *rules, {action_buttons, rules->num_actions})};
    });
}

void mario_envs_destroy(mario_envs* envs) { delete envs; }

int32_t mario_envs_set_starts(mario_envs* envs, const uint32_t* snapshots, uint32_t num_starts) {
    return mario::guarded([&] { envs->environments.set_starts({snapshots, num_starts}); });
}

int32_t mario_envs_set_weights(mario_envs* envs, const double* weights, uint32_t num_starts) {
    return mario::guarded([&] { envs->environments.set_weights({weights, num_starts}); });
}

int32_t mario_envs_set_excerpts(mario_envs* envs, const uint32_t* num_steps, uint32_t num_starts) {
    return mario::guarded([&] { envs->environments.set_excerpts({num_steps, num_starts}); });
}

int32_t mario_envs_set_map(mario_envs* envs, const mario_map_area* areas, uint32_t num_areas, const uint32_t* remaining_frames,
                           uint32_t num_remaining) {
    return mario::guarded([&] {
        envs->environments.set_map(ProgressMap({areas, num_areas}, {remaining_frames, num_remaining}));
    });
}

int32_t mario_envs_reset(mario_envs* envs, const uint8_t* mask, const uint64_t* seeds, const int32_t* starts, uint8_t* observations,
                         mario_game* games, mario_episode* episodes) {
    return mario::guarded([&] {
        envs->environments.reset(mask, seeds, starts, {.observations = observations, .games = games, .episodes = episodes});
    });
}

int32_t mario_envs_step(mario_envs* envs, const int64_t* actions, uint8_t* observations, float* rewards, uint8_t* terminated,
                        uint8_t* truncated, uint8_t* stuck, mario_game* games, mario_episode* episodes, uint8_t* final_observations,
                        mario_game* final_games, mario_episode* final_episodes) {
    return mario::guarded([&] {
        envs->environments.step(actions, {observations, rewards, terminated, truncated, stuck, games, episodes, final_observations,
                                          final_games, final_episodes});
    });
}

size_t mario_envs_state_bytes(const mario_envs* envs) { return envs->environments.state_bytes(); }

int32_t mario_envs_save(const mario_envs* envs, uint32_t env, uint8_t* state, size_t state_bytes) {
    return mario::guarded([&] { envs->environments.save(env, {state, state_bytes}); });
}

int32_t mario_envs_load(mario_envs* envs, uint32_t env, const uint8_t* state, size_t state_bytes) {
    return mario::guarded([&] { envs->environments.load(env, {state, state_bytes}); });
}

int32_t mario_batch_observe(const mario_batch* batch, uint32_t console, const mario_view* view, uint8_t* out, size_t out_bytes) {
    return mario::guarded([&] {
        const mario::picture::Camera camera(mario::view_of(*view));
        if (out_bytes != camera.out_bytes()) throw std::invalid_argument("the picture needs a buffer of its own size");
        camera.draw(batch->batch.console(console), batch->batch.board(), out);
    });
}

}  // extern "C"
