// mario_native.h over the C++ inside: the library itself and single cartridges.
#include "mario_native.h"

#include <string>

#include "boundary_guard.h"
#include "nes/cartridge.h"
#include "source_hash.h"

namespace mario {
namespace {

thread_local std::string last_error;

}  // namespace

mario_status fail(mario_status status, const char* reason) noexcept {
    try {
        last_error = reason;
    } catch (...) {
        last_error.clear();  // no memory left for the sentence; the status still says what happened
    }
    return status;
}

}  // namespace mario

extern "C" {

uint32_t mario_abi_version(void) { return MARIO_ABI_VERSION; }

const char* mario_source_hash(void) { return MARIO_SOURCE_HASH; }

size_t mario_cartridge_info_bytes(void) { return sizeof(mario_cartridge_info); }

const char* mario_last_error(void) { return mario::last_error.c_str(); }

int32_t mario_read_cartridge(const uint8_t* file, size_t file_bytes, mario_cartridge_info* info) {
    return mario::guarded([&] {
        const auto cartridge = mario::nes::read_cartridge({file, file_bytes});
        *info = mario_cartridge_info{
            .prg_rom_bytes = static_cast<uint32_t>(cartridge.prg_rom.size()),
            .chr_rom_bytes = static_cast<uint32_t>(cartridge.chr_rom.size()),
            .prg_ram_bytes = cartridge.prg_ram_bytes,
            .vertical_mirroring = cartridge.mirroring == mario::nes::Mirroring::vertical,
        };
    });
}

}  // extern "C"
