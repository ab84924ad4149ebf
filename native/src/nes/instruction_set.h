// The 6502's 256 opcodes: which operation each one does, and how it finds its operand.
#pragma once

#include <array>
#include <cstdint>

namespace mario::nes {

/// Official operations first; those after JAM are the ones the chip does without being asked to in its manual.
enum class Operation : std::uint8_t {
    ADC, AND, ASL, BCC, BCS, BEQ, BIT, BMI, BNE, BPL, BRK, BVC, BVS, CLC, CLD, CLI, CLV, CMP, CPX, CPY, DEC, DEX, DEY, EOR,
    INC, INX, INY, JMP, JSR, LDA, LDX, LDY, LSR, NOP, ORA, PHA, PHP, PLA, PLP, ROL, ROR, RTI, RTS, SBC, SEC, SED, SEI, STA,
    STX, STY, TAX, TAY, TSX, TXA, TXS, TYA,
    JAM, AHX, ALR, ANC, ARR, AXS, DCP, ISC, LAS, LAX, LXA, RLA, RRA, SAX, SHX, SHY, SLO, SRE, TAS, XAA,
};

enum class Mode : std::uint8_t {
    implied, accumulator, immediate, zero_page, zero_page_x, zero_page_y, absolute, absolute_x, absolute_y, indirect,
    indexed_indirect,  ///< (zp,X)
    indirect_indexed,  ///< (zp),Y
    relative,
};

struct Instruction {
    Operation operation;
    Mode mode;
};

namespace detail {

constexpr std::array<Instruction, 256> make_instruction_set() {
    using enum Operation;
    constexpr Mode IMP = Mode::implied, ACC = Mode::accumulator, IMM = Mode::immediate, ZP = Mode::zero_page,
                   ZPX = Mode::zero_page_x, ZPY = Mode::zero_page_y, ABS = Mode::absolute, ABX = Mode::absolute_x,
                   ABY = Mode::absolute_y, IND = Mode::indirect, IZX = Mode::indexed_indirect,
                   IZY = Mode::indirect_indexed, REL = Mode::relative;
    return {{
        // 0x00
        {BRK, IMP}, {ORA, IZX}, {JAM, IMP}, {SLO, IZX}, {NOP, ZP},  {ORA, ZP},  {ASL, ZP},  {SLO, ZP},
        {PHP, IMP}, {ORA, IMM}, {ASL, ACC}, {ANC, IMM}, {NOP, ABS}, {ORA, ABS}, {ASL, ABS}, {SLO, ABS},
        // 0x10
        {BPL, REL}, {ORA, IZY}, {JAM, IMP}, {SLO, IZY}, {NOP, ZPX}, {ORA, ZPX}, {ASL, ZPX}, {SLO, ZPX},
        {CLC, IMP}, {ORA, ABY}, {NOP, IMP}, {SLO, ABY}, {NOP, ABX}, {ORA, ABX}, {ASL, ABX}, {SLO, ABX},
        // 0x20
        {JSR, ABS}, {AND, IZX}, {JAM, IMP}, {RLA, IZX}, {BIT, ZP},  {AND, ZP},  {ROL, ZP},  {RLA, ZP},
        {PLP, IMP}, {AND, IMM}, {ROL, ACC}, {ANC, IMM}, {BIT, ABS}, {AND, ABS}, {ROL, ABS}, {RLA, ABS},
        // 0x30
        {BMI, REL}, {AND, IZY}, {JAM, IMP}, {RLA, IZY}, {NOP, ZPX}, {AND, ZPX}, {ROL, ZPX}, {RLA, ZPX},
        {SEC, IMP}, {AND, ABY}, {NOP, IMP}, {RLA, ABY}, {NOP, ABX}, {AND, ABX}, {ROL, ABX}, {RLA, ABX},
        // 0x40
        {RTI, IMP}, {EOR, IZX}, {JAM, IMP}, {SRE, IZX}, {NOP, ZP},  {EOR, ZP},  {LSR, ZP},  {SRE, ZP},
        {PHA, IMP}, {EOR, IMM}, {LSR, ACC}, {ALR, IMM}, {JMP, ABS}, {EOR, ABS}, {LSR, ABS}, {SRE, ABS},
        // 0x50
        {BVC, REL}, {EOR, IZY}, {JAM, IMP}, {SRE, IZY}, {NOP, ZPX}, {EOR, ZPX}, {LSR, ZPX}, {SRE, ZPX},
        {CLI, IMP}, {EOR, ABY}, {NOP, IMP}, {SRE, ABY}, {NOP, ABX}, {EOR, ABX}, {LSR, ABX}, {SRE, ABX},
        // 0x60
        {RTS, IMP}, {ADC, IZX}, {JAM, IMP}, {RRA, IZX}, {NOP, ZP},  {ADC, ZP},  {ROR, ZP},  {RRA, ZP},
        {PLA, IMP}, {ADC, IMM}, {ROR, ACC}, {ARR, IMM}, {JMP, IND}, {ADC, ABS}, {ROR, ABS}, {RRA, ABS},
        // 0x70
        {BVS, REL}, {ADC, IZY}, {JAM, IMP}, {RRA, IZY}, {NOP, ZPX}, {ADC, ZPX}, {ROR, ZPX}, {RRA, ZPX},
        {SEI, IMP}, {ADC, ABY}, {NOP, IMP}, {RRA, ABY}, {NOP, ABX}, {ADC, ABX}, {ROR, ABX}, {RRA, ABX},
        // 0x80
        {NOP, IMM}, {STA, IZX}, {NOP, IMM}, {SAX, IZX}, {STY, ZP},  {STA, ZP},  {STX, ZP},  {SAX, ZP},
        {DEY, IMP}, {NOP, IMM}, {TXA, IMP}, {XAA, IMM}, {STY, ABS}, {STA, ABS}, {STX, ABS}, {SAX, ABS},
        // 0x90
        {BCC, REL}, {STA, IZY}, {JAM, IMP}, {AHX, IZY}, {STY, ZPX}, {STA, ZPX}, {STX, ZPY}, {SAX, ZPY},
        {TYA, IMP}, {STA, ABY}, {TXS, IMP}, {TAS, ABY}, {SHY, ABX}, {STA, ABX}, {SHX, ABY}, {AHX, ABY},
        // 0xA0
        {LDY, IMM}, {LDA, IZX}, {LDX, IMM}, {LAX, IZX}, {LDY, ZP},  {LDA, ZP},  {LDX, ZP},  {LAX, ZP},
        {TAY, IMP}, {LDA, IMM}, {TAX, IMP}, {LXA, IMM}, {LDY, ABS}, {LDA, ABS}, {LDX, ABS}, {LAX, ABS},
        // 0xB0
        {BCS, REL}, {LDA, IZY}, {JAM, IMP}, {LAX, IZY}, {LDY, ZPX}, {LDA, ZPX}, {LDX, ZPY}, {LAX, ZPY},
        {CLV, IMP}, {LDA, ABY}, {TSX, IMP}, {LAS, ABY}, {LDY, ABX}, {LDA, ABX}, {LDX, ABY}, {LAX, ABY},
        // 0xC0
        {CPY, IMM}, {CMP, IZX}, {NOP, IMM}, {DCP, IZX}, {CPY, ZP},  {CMP, ZP},  {DEC, ZP},  {DCP, ZP},
        {INY, IMP}, {CMP, IMM}, {DEX, IMP}, {AXS, IMM}, {CPY, ABS}, {CMP, ABS}, {DEC, ABS}, {DCP, ABS},
        // 0xD0
        {BNE, REL}, {CMP, IZY}, {JAM, IMP}, {DCP, IZY}, {NOP, ZPX}, {CMP, ZPX}, {DEC, ZPX}, {DCP, ZPX},
        {CLD, IMP}, {CMP, ABY}, {NOP, IMP}, {DCP, ABY}, {NOP, ABX}, {CMP, ABX}, {DEC, ABX}, {DCP, ABX},
        // 0xE0
        {CPX, IMM}, {SBC, IZX}, {NOP, IMM}, {ISC, IZX}, {CPX, ZP},  {SBC, ZP},  {INC, ZP},  {ISC, ZP},
        {INX, IMP}, {SBC, IMM}, {NOP, IMP}, {SBC, IMM}, {CPX, ABS}, {SBC, ABS}, {INC, ABS}, {ISC, ABS},
        // 0xF0
        {BEQ, REL}, {SBC, IZY}, {JAM, IMP}, {ISC, IZY}, {NOP, ZPX}, {SBC, ZPX}, {INC, ZPX}, {ISC, ZPX},
        {SED, IMP}, {SBC, ABY}, {NOP, IMP}, {ISC, ABY}, {NOP, ABX}, {SBC, ABX}, {INC, ABX}, {ISC, ABX},
    }};
}

}  // namespace detail

inline constexpr std::array<Instruction, 256> instruction_set = detail::make_instruction_set();

}  // namespace mario::nes
