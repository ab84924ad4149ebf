// What every function of mario_native.h that can fail shares: no exception leaves the library.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>

#include "mario_native.h"
#include "nes/cartridge.h"
#include "nes/save_state.h"
#include "picture/camera.h"
#include "recompiler/engine.h"

namespace mario {

/// Keeps the sentence for mario_last_error() of this thread and returns the status.
mario_status fail(mario_status status, const char* reason) noexcept;

/// Runs one call's work and turns what it throws into a status.
template <typename Work>
std::int32_t guarded(Work&& work) noexcept {
    try {
        work();
        return MARIO_OK;
    } catch (const nes::CartridgeError& error) {
        return fail(MARIO_BAD_CARTRIDGE, error.what());
    } catch (const nes::SaveStateError& error) {
        return fail(MARIO_BAD_STATE, error.what());
    } catch (const picture::ViewError& error) {
        return fail(MARIO_BAD_ARGUMENT, error.what());
    } catch (const recompiler::EngineError& error) {
        return fail(MARIO_BAD_ENGINE, error.what());
    } catch (const std::invalid_argument& error) {
        return fail(MARIO_BAD_ARGUMENT, error.what());
    } catch (const std::exception& error) {
        return fail(MARIO_INTERNAL, error.what());
    }
}

/// Buffers of callers have a known size; anything else is their mistake.
inline std::span<std::uint8_t, nes::save_state_bytes> state_buffer(std::uint8_t* state, std::size_t state_bytes) {
    if (state_bytes != nes::save_state_bytes) throw std::invalid_argument("a save-state needs mario_state_bytes() bytes");
    return std::span<std::uint8_t, nes::save_state_bytes>(state, nes::save_state_bytes);
}

inline picture::View view_of(const mario_view& view) {
    return {view.x, view.y, view.width, view.height, view.out_width, view.out_height,
            view.is_rgb ? picture::Format::rgb : picture::Format::grey};
}

}  // namespace mario
