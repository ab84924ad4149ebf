// One NES with an NROM cartridge: everything that changes is in one struct, everything that does not is on the board.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "nes/apu.h"
#include "nes/board.h"
#include "nes/controller.h"
#include "nes/cpu.h"
#include "nes/ppu.h"
#include "recompiler/machine.h"

namespace mario::nes {

/// Idle loops may be skipped: the state at the end of a frame is the same, byte for byte.
enum class IdleLoops : std::uint8_t { skipped, executed };

/// How often the instruction at each address was executed.
using ExecutionCounts = std::array<std::uint32_t, 0x10000>;

/// The whole state. It belongs to one thread at a time; a copy is a save-state. The board it was powered on with must be the
/// one it is run with.
struct Console {
    std::uint64_t cycle;        ///< CPU cycles since power-on
    std::uint64_t frame_count;  ///< frames since power-on
    std::uint64_t lag_frames;   ///< those in which the program never read the controller
    CpuState cpu;
    ControllerState controller;
    std::uint16_t dma_stall;  ///< cycles for which a DMA that was asked for will halt the CPU
    std::uint8_t dma_page;
    std::array<std::uint8_t, 5> unused;
    ApuState apu;
    std::array<std::uint8_t, 2048> ram;
    std::array<std::uint8_t, 8192> prg_ram;  ///< at $6000; unused where the board has none
    PpuState ppu;

    /// Switches on at the beginning of a vertical blank, all RAM filled with one value (the machine's is random).
    void power_on(const Board& board, std::uint8_t ram_fill) noexcept;
    /// The reset button: memory stays.
    void reset(const Board& board) noexcept;
    /// Runs from vertical blank to vertical blank: to the first instruction that ends after the flag was set.
    /// Equal states and buttons give equal states. A jammed CPU lets the time pass.
    /// So do the interpreter and an engine made from this board's program, where one is given.
    void run_frame(const Board& board, Buttons buttons, IdleLoops idle_loops = IdleLoops::skipped,
                   const recompiler::Program* engine = nullptr) noexcept;

    /// The same, by the interpreter, and counts what it executes.
    void run_frame_counting(const Board& board, Buttons buttons, ExecutionCounts& counts) noexcept;

    /// Runs whole instructions until this CPU cycle is reached, across frames; for comparing with machines that stop elsewhere.
    /// A save-state taken there may be refused: it stands at the end of a frame. A jammed CPU stops it.
    void run_to_cycle(const Board& board, Buttons buttons, std::uint64_t target) noexcept;

    [[nodiscard]] bool is_jammed() const { return cpu.is_jammed != 0; }
};

static_assert(std::is_trivially_copyable_v<Console>, "a save-state is a copy");
static_assert(std::has_unique_object_representations_v<Console>, "equal states have equal bytes: no padding");

/// Copies what the board uses: without the log's unused part, and CHR RAM where there is some. The rest of `to` keeps its bytes.
void copy_console(Console& to, const Console& from, const Board& board) noexcept;

}  // namespace mario::nes
