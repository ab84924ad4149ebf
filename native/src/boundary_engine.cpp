// mario_native.h over the C++ inside: the recompiler's text.
#include <cstring>
#include <stdexcept>

#include "boundary_guard.h"
#include "mario_native.h"
#include "nes/board.h"
#include "recompiler/writer.h"
#include "source_hash.h"

extern "C" int32_t mario_write_engine(const uint8_t* file, size_t file_bytes, uint32_t part, uint32_t num_parts, char* text,
                                      size_t* text_bytes) {
    return mario::guarded([&] {
        if (part >= num_parts) throw std::invalid_argument("an engine has parts 0 to num_parts - 1");
        const auto board = mario::nes::make_board(mario::nes::read_cartridge({file, file_bytes}));
        const std::string written = mario::recompiler::write_engine(board, MARIO_SOURCE_HASH, part, num_parts);
        if (text != nullptr) {
            if (*text_bytes != written.size()) throw std::invalid_argument("the text has another length than the buffer");
            std::memcpy(text, written.data(), written.size());
        }
        *text_bytes = written.size();
    });
}
