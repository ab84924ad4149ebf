// mario_native.h over the C++ inside: what is known about the game.
#include <algorithm>
#include <array>

#include "mario_native.h"
#include "smb/game.h"

extern "C" {

size_t mario_game_bytes(void) { return sizeof(mario_game); }

void mario_read_game(const uint8_t* ram, mario_game* game) {
    std::array<uint8_t, 2048> bytes;
    std::copy_n(ram, bytes.size(), bytes.begin());
    *game = mario::smb::read_game(bytes);
}

}  // extern "C"
