#include "mario_native.h"

#include <cstdint>
#include <cstring>
#include <thread>

#include "check.h"

namespace {

TEST(the_library_says_what_it_is) {
    CHECK(mario_abi_version() == MARIO_ABI_VERSION);
    CHECK(std::strlen(mario_source_hash()) == 64);
    CHECK(mario_cartridge_info_bytes() == sizeof(mario_cartridge_info));
}

TEST(a_failing_call_changes_nothing_and_says_why) {
    const std::uint8_t junk[3] = {1, 2, 3};
    mario_cartridge_info info{7, 7, 7, 7};
    CHECK(mario_read_cartridge(junk, sizeof junk, &info) == MARIO_BAD_CARTRIDGE);
    CHECK(info.prg_rom_bytes == 7 && info.vertical_mirroring == 7);
    CHECK_CONTAINS(mario_last_error(), "3 bytes");
}

TEST(each_thread_has_its_own_last_error) {
    mario_cartridge_info info{};
    const std::uint8_t junk[1] = {0};
    (void)mario_read_cartridge(junk, 1, &info);
    std::string seen_elsewhere = "unset";
    std::thread([&] { seen_elsewhere = mario_last_error(); }).join();
    CHECK(seen_elsewhere.empty());
    CHECK_CONTAINS(mario_last_error(), "1 bytes");
}

}  // namespace

int main() { return check::run_all(); }
