// What every function of mario_native.h that can fail shares: no exception leaves the library.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>

#include "mario_native.h"
#include "nes/cartridge.h"
#include "nes/save_state.h"

namespace mario {

/// A caller's mistake; what() says what was expected.
struct ArgumentError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

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
    } catch (const ArgumentError& error) {
        return fail(MARIO_BAD_ARGUMENT, error.what());
    } catch (const std::exception& error) {
        return fail(MARIO_INTERNAL, error.what());
    }
}

}  // namespace mario
