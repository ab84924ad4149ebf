/* The whole boundary between the console and its callers, as a C ABI.
 *
 * Every function is safe to call from any thread unless it says otherwise. What a caller passes in stays the
 * caller's; nothing here keeps a pointer after it returns. A function that can fail returns MARIO_OK or another
 * mario_status, and leaves a sentence for people in mario_last_error() of the same thread.
 *
 * A change to any declaration below raises MARIO_ABI_VERSION, here and in src/mario_a3c/native/bindings.py.
 */
#ifndef MARIO_NATIVE_H
#define MARIO_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MARIO_ABI_VERSION 14
#define MARIO_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mario_status {
    MARIO_OK = 0,
    MARIO_BAD_CARTRIDGE = 1, /* not a ROM file that this console can run */
    MARIO_INTERNAL = 2,      /* out of memory, or a defect of this library */
    MARIO_BAD_STATE = 3,     /* not a save-state that this console can load */
    MARIO_BAD_ARGUMENT = 4,  /* a size, an index or a choice out of its range */
    MARIO_BAD_ENGINE = 5     /* not an engine that this library wrote for this cartridge */
} mario_status;

typedef struct mario_cartridge_info {
    uint32_t prg_rom_bytes;       /* 16384 or 32768 */
    uint32_t chr_rom_bytes;       /* 8192, or 0 where the cartridge has 8 KB of CHR RAM instead */
    uint32_t prg_ram_bytes;       /* at $6000: 8192 or 0 */
    uint32_t vertical_mirroring;  /* 1: the name tables lie side by side; 0: one above the other */
} mario_cartridge_info;

/* What the loader compares before it calls anything else. */
MARIO_API uint32_t mario_abi_version(void);
MARIO_API const char* mario_source_hash(void);         /* 64 hexadecimal digits; lives as long as the library */
MARIO_API size_t mario_cartridge_info_bytes(void);     /* sizeof(mario_cartridge_info) as compiled */

/* Why the last failing call of this thread failed; "" before the first. Valid until the thread's next call. */
MARIO_API const char* mario_last_error(void);

/* Checks a whole .nes file in memory and describes it. MARIO_BAD_CARTRIDGE leaves *info as it was. */
MARIO_API int32_t mario_read_cartridge(const uint8_t* file, size_t file_bytes, mario_cartridge_info* info);

/* The cartridge's program as C++, for a compiler to make a shared object of, in num_parts files which are compiled separately and
 * linked together. Writes the length of one of them to *text_bytes and, unless text is NULL, the text: *text_bytes must then be that
 * length. Each file is complete in itself. It derives from the ROM and stays with it. */
MARIO_API int32_t mario_write_engine(const uint8_t* file, size_t file_bytes, uint32_t part, uint32_t num_parts, char* text,
                                     size_t* text_bytes);

/* A part of the screen (even numbers inside 256 x 240), grey or in colour. Grey shrinks to out_width x out_height by exact area
 * averages of the luma (77 R + 150 G + 29 B + 128) / 256, rounded half up; colour keeps its size.
 */
typedef struct mario_view {
    uint32_t x, y, width, height;
    uint32_t out_width, out_height;
    uint32_t is_rgb; /* 1: [out_height, out_width, 3]; 0: [out_height, out_width] */
} mario_view;

MARIO_API size_t mario_view_bytes(void); /* sizeof(mario_view) as compiled */

/* One console. A handle belongs to one thread at a time. Buttons are bits: A 1, B 2, select 4, start 8, up 16, down 32,
 * left 64, right 128.
 */
typedef struct mario_console mario_console;

/* Copies the cartridge and switches on with RAM full of zeros. On failure *console stays as it was. */
MARIO_API int32_t mario_console_create(const uint8_t* file, size_t file_bytes, mario_console** console);
MARIO_API void mario_console_destroy(mario_console* console); /* NULL is allowed */

/* Switches off and on; every byte of RAM becomes ram_fill (FCEUmm has 0xFF, nes-py 0x00; the machine's is random). */
MARIO_API void mario_console_power_on(mario_console* console, uint8_t ram_fill);
MARIO_API void mario_console_reset(mario_console* console);
/* From vertical blank to vertical blank, num_frames times. */
MARIO_API void mario_console_run_frames(mario_console* console, uint8_t buttons, uint32_t num_frames);
/* Frames are run by the shared object at path, made from the text of mario_write_engine, or by the interpreter again where path is
 * NULL. The states are the same. MARIO_BAD_ENGINE, for another version, build or cartridge, leaves everything as it was. The file is
 * loaded, so its code runs: check first that it is yours, and whole. */
MARIO_API int32_t mario_console_set_engine(mario_console* console, const char* path);
/* 1 (as created): idle loops are skipped; 0: they are executed. The states are the same; for tests. */
MARIO_API void mario_console_set_idle_skip(mario_console* console, int32_t skips);

/* The console's own memory, to be read and written between calls. Valid until it is destroyed. */
MARIO_API uint8_t* mario_console_ram(mario_console* console);     /* 2,048 bytes */
MARIO_API uint8_t* mario_console_prg_ram(mario_console* console); /* 8,192 bytes; without effect where the board has none */

MARIO_API uint64_t mario_console_frame_count(const mario_console* console);
MARIO_API uint64_t mario_console_lag_frames(const mario_console* console); /* frames in which the controller was not read */
MARIO_API int32_t mario_console_is_jammed(const mario_console* console);   /* the CPU has stopped for good */

/* For comparing with other machines, instruction by instruction: runs whole instructions until a CPU cycle, counted from power-on, is
 * reached, across frames. A save-state taken within a frame may be refused when it is loaded. */
typedef struct mario_cpu {
    uint64_t cycle; /* CPU cycles since power-on */
    uint32_t pc, a, x, y, s, p;
} mario_cpu;

MARIO_API size_t mario_cpu_bytes(void); /* sizeof(mario_cpu) as compiled */
MARIO_API void mario_console_cpu(const mario_console* console, mario_cpu* cpu);
MARIO_API void mario_console_run_to_cycle(mario_console* console, uint8_t buttons, uint64_t cycle);

/* A save-state is mario_state_bytes() long. MARIO_BAD_STATE leaves the console as it was. */
MARIO_API size_t mario_state_bytes(void);
MARIO_API int32_t mario_console_save(const mario_console* console, uint8_t* state, size_t state_bytes);
MARIO_API int32_t mario_console_load(mario_console* console, const uint8_t* state, size_t state_bytes);

/* The picture of the last frame; out has out_width * out_height bytes, times 3 in colour. */
MARIO_API int32_t mario_console_observe(const mario_console* console, const mario_view* view, uint8_t* out, size_t out_bytes);

/* What the bytes of Super Mario Bros. mean: one console's game, read from its 2,048 bytes of RAM. The European and the World game
 * share these addresses (in brackets, hexadecimal), and the Lost Levels follow them. Between frames every field is as the game last
 * left it: on the title screen and while an area is loaded, some still tell of before. Fields marked = equal the property of that
 * name of gym-super-mario-bros 7.4.0 on the same memory, decimal digits taken to be digits.
 */
typedef struct mario_game {
    uint32_t score;        /* = _score: the digits shown, without the millions [07DE-07E3] */
    uint16_t x;            /* = _x_position: pixels from the left end of the area [6D, 86]; about 65,000 is left of it, after a loop */
    uint16_t screen_x;     /* the left edge of the screen in the area [071A, 071C] */
    uint16_t y;            /* = _y_position: upward from the bottom of the screen; over 255 above its top [03B8, B5] */
    uint16_t clock;        /* = _time, as shown [07F8-07FA] */
    uint16_t coins;        /* = _coins, as shown [07ED-07EE] */
    uint16_t world;        /* = _world, from 1 [075F] */
    uint16_t stage;        /* = _stage, from 1, as shown after the dash [075C] */
    uint16_t level;        /* = _level: 4 for each world before this one, 1 for each stage before [075F, 075C] */
    uint16_t area_number;  /* = _area: of the world's areas, from 1; the walk to a pipe before a stage has its own [0760] */
    uint16_t room;         /* where the area's data lie in the cartridge [E7-E8]: tells apart all areas, bonus rooms too, but stages
                            * may share one */
    uint8_t x_on_screen;   /* = _left_x_position: pixels from the left edge of the screen [86, 071C] */
    uint8_t y_on_screen;   /* downward from the top of the screen that y_screen names [CE] */
    uint8_t y_screen;      /* = _y_viewport: 1 on the screen, 0 above it, 2 and more below it [B5] */
    uint8_t status;        /* = _player_status: 0 small, 1 tall, 2 with fireballs [0756] */
    uint8_t lives;         /* = _life: left beside this one; 255 when the game is over [075A] */
    uint8_t player_state;  /* = _player_state: 0 area begins, 1 climbs by itself, 2 into a side pipe, 3 down a pipe, 4 on the flagpole,
                            * 5 walks to the castle, 6 loses a life, 7 enters, 8 obeys the controller, 9 changes size, 10 is hurt,
                            * 11 dies, 12 takes a fire flower [0E] */
    uint8_t motion;        /* 0 stands or walks, 1 jumps or swims, 2 falls, 3 climbs [1D] */
    uint8_t game_mode;     /* 0 title screen and demonstration, 1 game, 2 end of a world, 3 game over [0770] */
    uint8_t game_task;     /* what the mode is doing; in a game 0-2 load an area and 3 plays [0772] */
    uint8_t area_type;     /* 0 water, 1 ground, 2 under ground, 3 castle [074E] */
    uint8_t next_area;     /* the area that the next pipe or vine leads to, as the game codes it; changes while scrolling [0750] */
    uint8_t next_page;     /* at which screen of it [0751] */
    uint8_t maze_passes;   /* checks passed in a maze of several checks, rightly or not [06DA] */
    uint8_t maze_correct;  /* of these, rightly [06D9] */
    uint8_t maze_pending;  /* not 0: a check lies on the screen that was drawn last [0745] */
    bool has_control;      /* the controller moves the player: in a game, not paused, player_state 8, not below the screen */
    bool is_paused;        /* [0776] */
    bool is_loading;       /* in a game: the area is being made, or the screen before it is shown */
    bool is_intro_walk;    /* walks into a pipe by itself, before the stage begins [0710] */
    bool is_cut_scene;     /* the game plays by itself: no control, and neither hurt, dying, growing nor paused */
    bool is_busy;          /* = _is_busy: player_state 0-5 or 7 */
    bool is_entering;      /* comes into an area: from a pipe, a vine, or from above */
    bool is_in_pipe;       /* goes into a pipe or comes out of one [0752] */
    bool is_swimming;      /* swims when A is pressed [0704] */
    bool is_climbing;      /* holds a vine; the flagpole is not one */
    bool is_on_clouds;     /* a bonus area in the sky, from which a fall leads back and is no death [0743] */
    bool is_dying;         /* = _is_dying: player_state 11, or below the screen, also below clouds */
    bool is_dead;          /* = _is_dead: player_state 6, when a life is taken */
    bool is_losing_life;   /* dying or dead, and not falling out of the clouds */
    bool is_game_over;     /* = _is_game_over: no lives left */
    bool is_on_flagpole;   /* slides down it */
    bool is_stage_over;    /* = _is_stage_over: climbs where there is a flag or Bowser [16-1A] */
    bool has_flag;         /* = _flag_get: is_stage_over or has_axe */
    bool has_axe;          /* = _is_world_over: touched the axe that ends a world; until the next world begins */
    bool is_world_end;     /* after the axe: meets the princess, or who is there in her place */
    bool is_stage_clear;   /* flagpole, the walk to the castle, or axe; no vine counts */
    bool is_power_up_out;  /* a mushroom that makes tall, or a flower, has come out of its block, and can be taken [14, 1B, 39] */
} mario_game;

MARIO_API size_t mario_game_bytes(void); /* sizeof(mario_game) as compiled */
/* From 2,048 bytes of RAM, of this console or of another. */
MARIO_API void mario_read_game(const uint8_t* ram, mario_game* game);

/* Many consoles with one cartridge, stepped by a pool of threads. A handle belongs to one thread at a time. Results depend on
 * neither the number of threads nor the number of consoles.
 */
typedef struct mario_batch mario_batch;

typedef struct mario_batch_config {
    uint32_t num_consoles;
    uint32_t num_threads;       /* 0: as many as the machine has */
    uint32_t frame_skip;        /* frames per step, all with the same buttons */
    uint32_t num_snapshots;     /* places for states to reset to */
    uint32_t ram_fill;          /* every byte of RAM at power-on */
    uint32_t takes_maximum;     /* 1: each pixel is the brighter one of the last two frames */
    uint32_t num_ram_addresses; /* 0: a step reports all 2,048 bytes of RAM */
    mario_view view;
} mario_batch_config;

typedef struct mario_step_flags {
    uint32_t lag_frames; /* frames of the step in which the program did not read the controller */
    uint32_t is_jammed;  /* the CPU has stopped for good; only a snapshot helps */
} mario_step_flags;

MARIO_API size_t mario_batch_config_bytes(void); /* sizeof(mario_batch_config) as compiled */
MARIO_API size_t mario_step_flags_bytes(void);   /* sizeof(mario_step_flags) as compiled */

/* Copies the cartridge and the addresses (num_ram_addresses of them, below 2,048; may be NULL when 0) and switches all consoles
 * on. On failure *batch stays as it was. */
MARIO_API int32_t mario_batch_create(const uint8_t* file, size_t file_bytes, const mario_batch_config* config,
                                     const uint16_t* ram_addresses, mario_batch** batch);
MARIO_API void mario_batch_destroy(mario_batch* batch); /* NULL is allowed; joins the threads */

/* Runs frame_skip frames on every console, except where snapshots[i] >= 0: that console becomes the snapshot and does not run.
 * Then writes one row per console into each array that is not NULL: the view, the bytes of RAM, the flags, the game. buttons has one
 * byte per console; snapshots may be NULL. On failure nothing has changed. */
MARIO_API int32_t mario_batch_step(mario_batch* batch, const uint8_t* buttons, const int32_t* snapshots, uint8_t* observations,
                                   uint8_t* ram, mario_step_flags* flags, mario_game* games);

/* As mario_console_set_engine, for all consoles of the batch. */
MARIO_API int32_t mario_batch_set_engine(mario_batch* batch, const char* path);

/* Places to reset to: from a save-state, or from a console of the batch as it is now. */
MARIO_API int32_t mario_batch_set_snapshot(mario_batch* batch, uint32_t snapshot, const uint8_t* state, size_t state_bytes);
MARIO_API int32_t mario_batch_take_snapshot(mario_batch* batch, uint32_t snapshot, uint32_t console);

MARIO_API int32_t mario_batch_copy(mario_batch* batch, uint32_t to, uint32_t from);
MARIO_API int32_t mario_batch_save(const mario_batch* batch, uint32_t console, uint8_t* state, size_t state_bytes);
MARIO_API int32_t mario_batch_load(mario_batch* batch, uint32_t console, const uint8_t* state, size_t state_bytes);

/* The 2,048 bytes of a console's RAM, to be read and written between calls; NULL for an index out of range. Valid until the
 * batch is destroyed. */
MARIO_API uint8_t* mario_batch_ram(mario_batch* batch, uint32_t console);
MARIO_API uint32_t mario_batch_num_threads(const mario_batch* batch); /* as really used */

/* From the next step on a batch is stepped by the threads of `other`, and its own end. Both may be stepped at the same time, by two
 * threads: consoles of one run while the last ones of the other are still running. The threads live as long as one of the batches. */
MARIO_API int32_t mario_batch_share_threads(mario_batch* batch, const mario_batch* other);

/* Environments: episodes on the consoles of a batch, one environment per console. A step holds an action for the batch's frame_skip
 * frames, and an episode that ends is followed by the next in the same step, where the rules say so. What is drawn at random depends on the environment's
 * seed, the number of its episode and the step in it, and on nothing else.
 */
typedef struct mario_envs mario_envs;

typedef enum mario_end_reason {
    MARIO_END_NONE = 0,
    MARIO_END_FLAG = 1, /* or the axe */
    MARIO_END_DEATH = 2,
    MARIO_END_GAME_OVER = 3,
    MARIO_END_WARP = 4,       /* left the stage without its flag */
    MARIO_END_TIME_LIMIT = 5, /* from here on the episode was cut short */
    MARIO_END_STALL = 6,
    MARIO_END_JAMMED = 7
} mario_end_reason;

/* What a frame of an observation is: the view of the batch; the console's 2,048 bytes of RAM, as an even number of rows of out_width
 * bytes, filled up with zeros; or both, the RAM beneath the picture. */
typedef enum mario_observed {
    MARIO_OBSERVE_PICTURE = 0,
    MARIO_OBSERVE_RAM = 1,
    MARIO_OBSERVE_BOTH = 2
} mario_observed;

typedef struct mario_env_rules {
    double sticky;            /* probability that a step repeats the previous action */
    float progress_reward;    /* per pixel */
    float step_penalty;       /* per step */
    float flag_bonus;
    float failure_penalty;    /* for a lost life, or a warp; for a stall, where that is a failure */
    float score_reward;       /* per point of the game's score */
    float power_reward;       /* for a status one higher, half of it as soon as one is out; taken off again where it is lost */
    uint32_t is_classic;      /* 1: rewards and ends of gym-super-mario-bros; the six above are not used */
    uint32_t num_actions;     /* at most 256 */
    uint32_t frame_stack;     /* frames in an observation, 1 to 16 */
    uint32_t max_episode_steps; /* 0: no limit */
    uint32_t stall_steps;     /* without progress, after which an episode is cut; 0: no limit */
    uint32_t stall_fails;     /* 1: it is then not cut short, but terminates, as a failure */
    uint32_t noop_max;        /* episodes begin with 0 to this many idle frames */
    uint32_t one_life;        /* 1: a lost life ends the episode; 0: only the end of the game does */
    uint32_t one_stage;       /* 1: the flag ends the episode; 0: only that of last_level does */
    uint32_t last_level;      /* of the cartridge, counted as mario_game.level */
    uint32_t skip_idle;       /* 1: a step goes on, without buttons, until the player has control again */
    uint32_t autoreset;       /* 1: the next episode begins in the step that ends one; 0: mario_envs_reset begins it */
    uint32_t cycles_starts;   /* 1: environment e begins its episode k at start e + k; 0: starts are drawn by weight */
    uint32_t first_env;       /* number of the first environment, where others are stepped elsewhere */
    uint32_t augment_shift;   /* pixels */
    uint32_t augment_brightness;
    uint32_t augment_noise;
    uint32_t show_buttons;    /* 1: eight squares of 8 x 8 pixels at the top left of each frame, in the order of the bits: white where the
                                 button was down in the last frame of the step, black where it was not */
    uint32_t observes;        /* a mario_observed; the three above and show_buttons need a picture */
    float shaping_discount;   /* with a map; 0: progress pays what was gained; else it pays discount * potential - last potential, and the
                                 potential is 0 where an episode terminates */
} mario_env_rules;

typedef struct mario_episode {
    float total_reward;
    float progress;      /* pixels of new ground; by a map: 0 at the start of the stage, 1 at its end, wherever the episode began */
    uint32_t num_steps;
    uint32_t num_frames;
    uint32_t number;     /* of the environment's episodes since it was seeded, from 0 */
    int32_t start;       /* where it began; -1: where the console stood */
    int32_t level;       /* the stage it began in, as mario_game.level */
    int32_t end_reason;  /* a mario_end_reason */
    uint32_t num_power_ups; /* mushrooms and flowers that were taken */
} mario_episode;

/* One area of the map of remaining time: rows of 48 squares from the top of the screen above to the end of the one below, of
 * num_columns squares of 16 pixels each, beginning at number `first` of the map's numbers. 0xFFFFFFFF is unknown: it pays nothing. */
typedef struct mario_map_area {
    uint32_t num_columns;
    uint32_t first;
    uint32_t stage_frames; /* from the start of the stage: as many frames are left there */
    uint16_t room;         /* these six as in mario_game */
    uint8_t level;
    uint8_t maze_passes;
    uint8_t maze_correct;
    uint8_t next_area;
    uint8_t next_page;
    uint8_t unused;
} mario_map_area;

MARIO_API size_t mario_env_rules_bytes(void); /* sizeof(mario_env_rules) as compiled */
MARIO_API size_t mario_episode_bytes(void);   /* sizeof(mario_episode) as compiled */
MARIO_API size_t mario_map_area_bytes(void);  /* sizeof(mario_map_area) as compiled */

/* Copies rules and buttons (num_actions bytes). The batch stays the caller's and must outlive the environments; between their calls
 * it may be used as before. On failure *envs stays as it was. */
MARIO_API int32_t mario_envs_create(mario_batch* batch, const mario_env_rules* rules, const uint8_t* action_buttons, mario_envs** envs);
MARIO_API void mario_envs_destroy(mario_envs* envs); /* NULL is allowed */

/* Where episodes begin: snapshots of the batch, and how often each is drawn (1 each, until weights are set). */
MARIO_API int32_t mario_envs_set_starts(mario_envs* envs, const uint32_t* snapshots, uint32_t num_starts);
MARIO_API int32_t mario_envs_set_weights(mario_envs* envs, const double* weights, uint32_t num_starts);
/* Which starts begin an excerpt: it has no idle frames before it, and is cut like an episode of max_episode_steps after so many steps.
 * 0, and until it is set: an episode as the rules say. */
MARIO_API int32_t mario_envs_set_excerpts(mario_envs* envs, const uint32_t* num_steps, uint32_t num_starts);
/* Progress is measured by this map from the next episode on; without areas, by position again. In an area that it does not know, the
 * one of the same room in which most is left counts. */
MARIO_API int32_t mario_envs_set_map(mario_envs* envs, const mario_map_area* areas, uint32_t num_areas,
                                     const uint32_t* remaining_frames, uint32_t num_remaining);

/* Begins new episodes where mask is not 0 (NULL: everywhere), with seeds where they are given, at the starts that are given (-1: drawn;
 * -2: where the console stands). Then writes one row per environment, also of the others, into each array that is not NULL. */
MARIO_API int32_t mario_envs_reset(mario_envs* envs, const uint8_t* mask, const uint64_t* seeds, const int32_t* starts,
                                   uint8_t* observations, mario_game* games, mario_episode* episodes);
/* One step of every environment. Arrays that are NULL are left out; rows of the final ones are written where an episode ended, the
 * others then show the beginning of the next. Observations are frame_stack frames, the newest last. stuck says where the
 * previous action was repeated, whatever was asked for. On failure nothing has changed. */
MARIO_API int32_t mario_envs_step(mario_envs* envs, const int64_t* actions, uint8_t* observations, float* rewards, uint8_t* terminated,
                                  uint8_t* truncated, uint8_t* stuck, mario_game* games, mario_episode* episodes,
                                  uint8_t* final_observations, mario_game* final_games, mario_episode* final_episodes);

/* What an environment remembers beside its console, which the batch saves. Equal configs only. */
MARIO_API size_t mario_envs_state_bytes(const mario_envs* envs);
MARIO_API int32_t mario_envs_save(const mario_envs* envs, uint32_t env, uint8_t* state, size_t state_bytes);
MARIO_API int32_t mario_envs_load(mario_envs* envs, uint32_t env, const uint8_t* state, size_t state_bytes);

/* Another view of a console of the batch, as mario_console_observe. */
MARIO_API int32_t mario_batch_observe(const mario_batch* batch, uint32_t console, const mario_view* view, uint8_t* out,
                                      size_t out_bytes);

/* The search for a way through one stage: states that were reached are kept by cell, gone back to, and played on from at random. A
 * handle belongs to one thread at a time; the search runs on its own threads. With one thread, equal seeds give equal searches.
 *
 * A step holds one action for frame_skip frames. Where skips_idle is set it then goes on, with nothing pressed, until the player has
 * control again. A path is one action per step, as an index into the actions. A lost life and another stage (warp zones) end a path.
 */
typedef struct mario_exploration mario_exploration;

typedef enum mario_goal {
    MARIO_GOAL_CLEAR = 0,   /* is_stage_clear */
    MARIO_GOAL_POWER_UP = 1 /* a status above that of the start: a mushroom, or a flower; the end of the stage ends a path */
} mario_goal;

typedef struct mario_exploration_config {
    uint64_t seed;
    uint32_t num_threads; /* 0: as many as the machine has */
    uint32_t frame_skip;
    uint32_t skips_idle;
    uint32_t max_cells;   /* bounds the memory: about 8 KB each; what is found beyond is not kept */
    uint32_t num_actions;
    uint32_t goal;        /* mario_goal */
} mario_exploration_config;

typedef struct mario_exploration_status {
    uint64_t num_frames;        /* run since the beginning */
    uint64_t first_goal_frames; /* of these, before the goal was first reached; 0 before that */
    uint64_t num_rollouts;
    uint64_t num_deaths;
    uint64_t num_goals;
    uint64_t num_bytes;         /* of memory, for states, paths and what was seen */
    uint32_t num_cells;
    uint32_t best_steps;        /* of the shortest path to the goal; 0 before one was found */
    uint32_t furthest_x;        /* in any area */
    uint32_t is_full;           /* max_cells are there */
} mario_exploration_status;

/* A place: all states in it count as one. */
typedef struct mario_cell {
    uint32_t steps;           /* the fewest seen from the start */
    uint32_t remaining_steps; /* the fewest seen to the goal; 4,294,967,295 where none led there */
    uint32_t num_picks;       /* how often the search went on from here */
    uint16_t room;            /* as in mario_game, like the mazes' and the pipes' bytes */
    uint16_t x;               /* x / 16 */
    uint16_t y;               /* (256 * y_screen + y_on_screen) / 16: downward, 16 at the top of the screen */
    uint8_t maze_passes;
    uint8_t maze_correct;
    uint8_t next_area;
    uint8_t next_page;
    uint8_t hold;             /* 0 stands, 1 is in the air or swims, 2 climbs */
    uint8_t unused;
} mario_cell;

MARIO_API size_t mario_exploration_config_bytes(void); /* sizeof(mario_exploration_config) as compiled */
MARIO_API size_t mario_exploration_status_bytes(void); /* sizeof(mario_exploration_status) as compiled */
MARIO_API size_t mario_cell_bytes(void);               /* sizeof(mario_cell) as compiled */

/* Copies everything. actions has num_actions bytes of buttons; start is a save-state in which the player has control. On failure
 * *exploration stays as it was. */
MARIO_API int32_t mario_exploration_create(const uint8_t* file, size_t file_bytes, const mario_exploration_config* config,
                                           const uint8_t* actions, const uint8_t* start, size_t start_bytes,
                                           mario_exploration** exploration);
MARIO_API void mario_exploration_destroy(mario_exploration* exploration); /* NULL is allowed; joins the threads */
/* As mario_console_set_engine. */
MARIO_API int32_t mario_exploration_set_engine(mario_exploration* exploration, const char* path);

/* Searches until num_frames have been run since the beginning, or frames_after_goal since the goal was first reached. With one thread
 * it does not matter into how many calls a search is divided. */
MARIO_API int32_t mario_exploration_run(mario_exploration* exploration, uint64_t num_frames, uint64_t frames_after_goal);
/* Plays paths from the start and keeps what they reach, to go on where another search ended. ends[i] is where path i ends in actions. */
MARIO_API int32_t mario_exploration_add_paths(mario_exploration* exploration, const uint8_t* actions, size_t num_actions,
                                              const uint64_t* ends, size_t num_paths);

MARIO_API void mario_exploration_get_status(const mario_exploration* exploration, mario_exploration_status* status);
/* Writes num_cells records, which must be as many as there are; works out remaining_steps for all of them. */
MARIO_API int32_t mario_exploration_get_cells(mario_exploration* exploration, mario_cell* cells, size_t num_cells);
/* The path to a cell: as many actions as its steps. */
MARIO_API int32_t mario_exploration_get_path(const mario_exploration* exploration, uint32_t cell, uint8_t* actions, size_t num_actions);
/* The state kept in a cell, as a save-state. */
MARIO_API int32_t mario_exploration_get_state(const mario_exploration* exploration, uint32_t cell, uint8_t* state, size_t state_bytes);
/* The shortest path to the goal: best_steps actions. */
MARIO_API int32_t mario_exploration_get_best_path(const mario_exploration* exploration, uint8_t* actions, size_t num_actions);

#ifdef __cplusplus
}
#endif

#endif
