#include "nes/ppu.h"

#include <bit>
#include <cstring>

#include "nes/apu.h"
#include "nes/raster.h"
#include "nes/scroll.h"

namespace mario::nes {
namespace {

constexpr std::uint32_t not_worked_out = 0;
constexpr std::uint32_t no_dot = ~0u;
/// Behind the last dot at which the frame's length is still open (the pre-render line's dot 339).
constexpr std::uint32_t length_decided_dot = prerender_dot - 1 + 339;

/// The first cycle in which the CPU notices an NMI that the PPU asks for at this dot. The line is looked at later in a cycle than
/// registers are read: by one dot, which programs that let NMIs and IRQs collide can tell.
constexpr std::uint64_t cycle_noticing(std::uint64_t dot) { return (dot - 1) / 3; }

/// Per set of driven bits: 0xFF in each byte of a bit that is not.
constexpr std::array<std::uint64_t, 256> floating_bytes = [] {
    std::array<std::uint64_t, 256> all{};
    for (unsigned driven = 0; driven < 256; ++driven) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            const unsigned place = std::endian::native == std::endian::little ? bit : 7 - bit;
            if (!(driven >> bit & 1u)) all[driven] |= std::uint64_t{0xFF} << (8 * place);
        }
    }
    return all;
}();

/// One bit per sprite whose top is above line 240, eight of them at a time.
std::uint64_t sprites_on_screen(const std::array<std::uint8_t, 64>& tops) {
    constexpr std::uint64_t every_byte = 0x0101010101010101u, bit_7 = 0x80 * every_byte;
    constexpr std::uint64_t gathering = 0x0102040810204080u;  // moves bit 0 of byte k to bit 56 + k
    std::uint64_t found = 0;
    for (unsigned i = 0; i < 64; i += 8) {
        std::uint64_t eight;  // in the order of a little-endian machine, as save-states are
        std::memcpy(&eight, &tops[i], sizeof eight);
        // From 240 = 0x80 + 0x70 on, bit 7 is set, and the other bits carry into it when 0x10 is added.
        const std::uint64_t below = eight & ((eight & ~bit_7) + 0x10 * every_byte) & bit_7;
        found |= ((~below & bit_7) >> 7) * gathering >> 56 << i;
    }
    return found;
}

bool covers(std::uint8_t y, unsigned line, unsigned height) { return line >= y && line < y + height; }

/// In bytes throughout, which the compiler makes vectors of.
unsigned num_covering(const std::array<std::uint8_t, 64>& tops, unsigned line, unsigned height) {
    const auto here = static_cast<std::uint8_t>(line), most = static_cast<std::uint8_t>(height - 1);
    std::uint8_t count = 0;
    for (const std::uint8_t y : tops) {
        const auto row = static_cast<std::uint8_t>(here - y);
        count = static_cast<std::uint8_t>(count + ((y <= here) & (row <= most)));
    }
    return count;
}

}  // namespace

void Ppu::power_on() {
    s_ = PpuState{};
    s_.nmi_cycle = never;
    s_.drawn_line0 = line0_dot;
    update_line0();
}

void Ppu::reset() {
    s_.registers.ctrl = s_.registers.mask = 0;
    s_.registers.is_second = 0;
    s_.registers.t = 0;
    s_.registers.fine_x = 0;
    s_.read_buffer = 0;
    s_.nmi_cycle = never;
    s_.is_odd_frame = 0;
    forget_predictions();
    update_line0();
}

std::uint8_t Ppu::read(unsigned number, std::uint64_t cycle) {
    if (number == 2) return drive_latch(read_status(dot_of(cycle)), 0xE0);
    catch_up(dot_of(cycle));
    switch (number) {
        case 4: return drive_latch(s_.oam[s_.oam_address], 0xFF);
        case 7: {
            const bool is_palette = (s_.registers.v & 0x3FFF) >= 0x3F00;
            return drive_latch(read_data(), is_palette ? 0x3F : 0xFF);
        }
        default: return s_.latch;
    }
}

void Ppu::write_oam_page(const std::array<std::uint8_t, 256>& page, std::uint64_t cycle) {
    catch_up(dot_of(cycle));
    forget_predictions();
    if (s_.oam_address == 0) s_.oam = page;
    else for (unsigned i = 0; i < 256; ++i) s_.oam[(s_.oam_address + i) & 0xFFu] = page[i];
    // Three bits of the attributes do not exist. Two entries at a time: the compiler makes vectors of it.
    constexpr std::uint64_t existing = 0xFFE3'FFFF'FFE3'FFFF;
    std::array<std::uint64_t, 32> entries;
    std::memcpy(entries.data(), s_.oam.data(), sizeof entries);
    for (std::uint64_t& entry : entries) entry &= existing;
    std::memcpy(s_.oam.data(), entries.data(), sizeof entries);
}

void Ppu::catch_up_with_picture(std::uint64_t dot) {
    while (dot - s_.frame_start >= s_.frame_dots()) {
        advance(s_.frame_dots());
        begin_vblank();
    }
    advance(static_cast<std::uint32_t>(dot - s_.frame_start));
}

std::uint64_t Ppu::next_status_change() {
    if (s_.position < prerender_dot) return s_.frame_start + prerender_dot;
    // One dot early: a read there would keep the flag from being set.
    std::uint32_t next = s_.frame_dots() - 1;
    if (s_.registers.is_rendering()) {
        if (!(s_.status & status_sprite0)) {
            if (s_.sprite0_dot == not_worked_out) s_.sprite0_dot = predict_sprite0();
            next = std::min(next, s_.sprite0_dot);
        }
        if (!(s_.status & status_overflow)) {
            if (s_.overflow_dot == not_worked_out) s_.overflow_dot = predict_overflow();
            next = std::min(next, s_.overflow_dot);
        }
    }
    return s_.frame_start + next;
}

// ---- time

void Ppu::advance(std::uint32_t to) {
    if (to <= s_.position) return;
    if (s_.position < prerender_dot && to >= prerender_dot) start_picture();
    if (to >= prerender_dot && s_.registers.is_rendering()) {
        update_flags(to);
        advance_scroll(s_.registers, s_.line0, std::max(s_.position, prerender_dot - 1), to);
        // The sprite unit zeroes its address while it fetches; the first time is dot 257 of the pre-render line.
        if (to >= prerender_dot - 1 + 257 && s_.position < s_.line0 + num_lines * dots_per_line) s_.oam_address = 0;
    }
    s_.position = to;
}

void Ppu::start_picture() {
    s_.status = 0;
    s_.first_registers = s_.registers;
    s_.num_logged = 0;
    s_.has_rendered = s_.registers.is_rendering();
    forget_predictions();
}

void Ppu::begin_vblank() {
    s_.frame_start += s_.frame_dots();
    s_.drawn_line0 = s_.line0;
    s_.position = 0;
    s_.is_odd_frame ^= 1;
    s_.has_frame_ended = 1;
    if (!s_.suppresses_vblank) {
        s_.status |= status_vblank;
        if (s_.registers.ctrl & ctrl_nmi) s_.nmi_cycle = cycle_noticing(s_.frame_start);
    }
    s_.suppresses_vblank = 0;
    age_latch();
    forget_predictions();
    update_line0();
}

void Ppu::update_line0() {
    if (s_.position >= length_decided_dot) return;
    s_.line0 = line0_dot - (s_.is_odd_frame && s_.registers.is_rendering() ? 1 : 0);
}

inline bool Ppu::is_drawing() const {
    return s_.position >= prerender_dot - 1 && s_.registers.is_rendering() &&
           s_.position < s_.line0 + num_lines * dots_per_line;
}

// ---- flags

inline void Ppu::update_flags(std::uint32_t to) {
    if (to < s_.line0) return;
    if (!(s_.status & status_sprite0) && to > s_.line0 + (s_.oam[0] + 1) * dots_per_line) {
        if (s_.sprite0_dot == not_worked_out) s_.sprite0_dot = predict_sprite0();
        if (s_.sprite0_dot <= to) s_.status |= status_sprite0;
    }
    if (!(s_.status & status_overflow)) {
        if (s_.overflow_dot == not_worked_out) s_.overflow_dot = predict_overflow();
        if (s_.overflow_dot <= to) s_.status |= status_overflow;
    }
}

std::uint32_t Ppu::predict_sprite0() const {
    const PpuRegisters& now = s_.registers;
    const unsigned y = s_.oam[0], x = s_.oam[3];
    if ((now.mask & mask_rendering) != mask_rendering || y >= num_lines - 1) return no_dot;
    const PictureMemory memory = picture_memory(s_, board_);
    Raster raster(s_.first_registers, {s_.log.data(), std::min(s_.num_logged, max_logged)}, s_.line0, memory);
    const unsigned clip = (now.mask & (mask_left_background | mask_left_sprites)) == (mask_left_background | mask_left_sprites) ? 0 : 8;
    const unsigned current = s_.position < s_.line0 ? 0 : (s_.position - s_.line0) / dots_per_line;
    BackgroundBand background;
    for (unsigned line = std::max(y + 1, current); line < std::min(y + 1 + sprite_height(now.ctrl), num_lines); ++line) {
        // With nothing logged, the sprite's pattern is known before the raster has come to its line.
        if (s_.num_logged == 0 && sprite_row(s_.oam.data(), line - y - 1, now.ctrl, memory) == 0) continue;
        const bool is_steady = raster.begin_line(line);
        const std::uint64_t sprite = sprite_row(s_.oam.data(), line - y - 1, raster.registers().ctrl, memory);
        if (sprite == 0) continue;
        if (!is_steady) raster.draw(background, 1);
        for (unsigned i = 0; i < 8 && x + i < 255; ++i) {
            if ((sprite >> (8 * i) & 3u) == 0 || x + i < clip) continue;
            unsigned colour;
            if (is_steady) {
                const PpuRegisters& r = raster.registers();
                const unsigned column = x + i + r.fine_x;
                colour = background_tile(r, moved_right(r.v, column / 8), memory) >> (8 * (column % 8)) & 3u;
            } else {
                colour = background.pixels[0][background.first + x + i] & 3u;
            }
            const std::uint32_t dot = s_.line0 + line * dots_per_line + x + i + 2;
            if (colour != 0 && dot > s_.position) return dot;
        }
    }
    return no_dot;
}

std::uint32_t Ppu::predict_overflow() const {
    if (!s_.registers.is_rendering()) return no_dot;
    const unsigned height = sprite_height(s_.registers.ctrl);
    // A sprite covers lines of two neighbouring bands of its own height; fewer than nine there cannot overflow.
    const unsigned shift = height == 8 ? 3 : 4;
    std::array<std::uint8_t, 64> tops;
    for (unsigned i = 0; i < 64; ++i) tops[i] = s_.oam[4 * i];
    std::array<std::uint8_t, 1 + 32> bands{};  // bands[0] lies above the screen
    // Most sprites are parked below the screen.
    for (std::uint64_t left = sprites_on_screen(tops); left != 0; left &= left - 1) {
        ++bands[1 + (tops[static_cast<unsigned>(std::countr_zero(left))] >> shift)];
    }
    std::uint8_t most = 0;
    for (unsigned i = 0; i < 32; ++i) most = std::max(most, static_cast<std::uint8_t>(bands[i] + bands[i + 1]));
    if (most < 8) return no_dot;
    const unsigned first = s_.position < s_.line0 ? 0 : (s_.position - s_.line0) / dots_per_line;
    for (unsigned line = first; line < num_lines; ++line) {
        const unsigned band = line >> shift;
        if (bands[band] + bands[band + 1] < 8) {
            line |= height - 1;
            continue;
        }
        if (num_covering(tops, line, height) < 8) continue;
        // The chip looks at two dots per sprite, eight where it keeps one. After the eighth it goes astray and compares
        // bytes that are no Y coordinates.
        std::uint32_t dot = 65;
        unsigned sprite = 0, found = 0;
        for (; sprite < 64 && found < 8; ++sprite) {
            const bool is_found = covers(s_.oam[4 * sprite], line, height);
            found += is_found;
            dot += is_found ? 8 : 2;
        }
        for (unsigned byte = 0; sprite < 64; ++sprite, byte = (byte + 1) & 3u, dot += 2) {
            if (!covers(s_.oam[4 * sprite + byte], line, height)) continue;
            const std::uint32_t when = s_.line0 + line * dots_per_line + dot;
            if (when > s_.position) return when;
            break;
        }
    }
    return no_dot;
}

// ---- registers

/// Puts a byte on the data lines; bits that are not driven are those that float there already.
inline std::uint8_t Ppu::drive_latch(std::uint8_t value, std::uint8_t driven_bits) {
    std::uint64_t ages;
    std::memcpy(&ages, s_.latch_ages.data(), sizeof ages);
    ages &= floating_bytes[driven_bits];
    std::memcpy(s_.latch_ages.data(), &ages, sizeof ages);
    return s_.latch = value;
}

void Ppu::age_latch() {
    for (unsigned bit = 0; bit < 8; ++bit) {
        if (s_.latch_ages[bit] < latch_frames) ++s_.latch_ages[bit];
        else s_.latch &= static_cast<std::uint8_t>(~(1u << bit));
    }
}

std::uint8_t Ppu::read_status(std::uint64_t dot) {
    catch_up_with_status(dot);
    const auto value = static_cast<std::uint8_t>(s_.status | (s_.latch & 0x1F));
    s_.status &= static_cast<std::uint8_t>(~status_vblank);
    if (s_.registers.is_second) change_register(2, 0);
    // Beside the moment at which the flag is set: just before it, it is never set; with it, the NMI is lost.
    const std::uint64_t position = dot - s_.frame_start;
    if (position + 1 == s_.frame_dots()) s_.suppresses_vblank = 1;
    if (position <= 1) s_.nmi_cycle = never;
    return value;
}

/// While a picture is drawn, programs read this register again and again; where nothing is logged, the flags are all they see.
void Ppu::catch_up_with_status(std::uint64_t dot) {
    const std::uint64_t to = dot - s_.frame_start;
    if (s_.position < prerender_dot || to >= s_.frame_dots() || s_.registers.is_second) catch_up(dot);
    else if (s_.registers.is_rendering()) update_flags(static_cast<std::uint32_t>(to));
}

void Ppu::write_ctrl(std::uint8_t value, std::uint64_t cycle) {
    const bool was_enabled = s_.registers.ctrl & ctrl_nmi;
    const bool is_enabled = value & ctrl_nmi;
    if ((s_.registers.ctrl ^ value) & ctrl_tall_sprites) forget_predictions();
    change_register(0, value);
    if (!was_enabled && is_enabled && (s_.status & status_vblank)) s_.nmi_cycle = cycle;
    if (was_enabled && !is_enabled && s_.position <= 1) s_.nmi_cycle = never;
}

void Ppu::write_mask(std::uint8_t value) {
    change_register(1, value);
    forget_predictions();
    update_line0();
}

void Ppu::write_scroll(std::uint8_t value) { change_register(5, value); }

void Ppu::write_address(std::uint8_t value) { change_register(6, value); }

inline void Ppu::change_register(unsigned number, std::uint8_t value) {
    if (number == 1 && (value & mask_rendering)) s_.has_rendered = 1;
    if (s_.has_rendered) log(static_cast<std::uint16_t>(register_access | number), value, 0);
    apply_access(s_.registers, number, value, is_drawing());
    // Until rendering is switched on, nobody can tell when a register changed: programs fill whole screens meanwhile.
    if (!s_.has_rendered) s_.first_registers = s_.registers;
    s_.sprite0_dot = not_worked_out;
}

void Ppu::write_oam(std::uint8_t value) {
    if (is_drawing()) {
        s_.oam_address = static_cast<std::uint8_t>(s_.oam_address + 4);
        return;
    }
    forget_predictions();
    s_.oam[s_.oam_address] = (s_.oam_address & 3u) == 2 ? value & 0xE3 : value;
    ++s_.oam_address;
}

std::uint8_t Ppu::read_data() {
    const auto address = static_cast<std::uint16_t>(s_.registers.v & 0x3FFF);
    std::uint8_t value = s_.read_buffer;
    if (address >= 0x3F00) {
        const std::uint8_t colours = s_.registers.mask & mask_grey ? 0x30 : 0x3F;
        value = static_cast<std::uint8_t>((s_.palette[palette_index(address)] & colours) | (s_.latch & 0xC0));
        s_.read_buffer = s_.name_tables[name_table_index(board_.mirroring, address)];
    } else if (address >= 0x2000) {
        s_.read_buffer = s_.name_tables[name_table_index(board_.mirroring, address)];
    } else {
        s_.read_buffer = board_.has_chr_ram ? s_.chr_ram[address] : board_.chr_rom[address];
    }
    change_register(7, 0);
    return value;
}

void Ppu::write_data(std::uint8_t value) {
    write_memory(s_.registers.v & 0x3FFF, value);
    change_register(7, 0);
}

inline void Ppu::write_memory(std::uint16_t address, std::uint8_t value) {
    std::uint8_t* const target = cell(address);
    if (target == nullptr) return;
    if (address >= 0x3F00) value &= 0x3F;
    // Without rendering only the background colour can be on the screen already.
    if (s_.has_rendered || address >= 0x3F00) log(address, value, *target);
    *target = value;
}

inline std::uint8_t* Ppu::cell(std::uint16_t address) {
    if (address >= 0x3F00) return &s_.palette[palette_index(address)];
    if (address >= 0x2000) return &s_.name_tables[name_table_index(board_.mirroring, address)];
    return board_.has_chr_ram ? &s_.chr_ram[address] : nullptr;
}

inline void Ppu::log(std::uint16_t address, std::uint8_t value, std::uint8_t previous) {
    if (s_.position < prerender_dot || s_.num_logged >= max_logged) return;
    s_.log[s_.num_logged++] = {s_.position, address, value, previous};
}

}  // namespace mario::nes
