// The 64 colours of the PPU as red, green and blue, and how bright they are.
#pragma once

#include <array>
#include <cstdint>

namespace mario::picture {

/// Decoded from the chip's composite signal: its four pairs of voltage levels sampled at twelve phases, black 0.518 V, white
/// 1.962 V, hue turned by 3.9 phases, saturation 0.85, FCC matrix from YIQ.
inline constexpr std::array<std::array<std::uint8_t, 3>, 64> colours{{
    {{102, 102, 102}}, {{0, 41, 150}}, {{24, 15, 181}}, {{66, 0, 173}},
    {{100, 0, 128}}, {{117, 0, 59}}, {{112, 7, 0}}, {{87, 31, 0}},
    {{48, 57, 0}}, {{6, 77, 0}}, {{0, 86, 0}}, {{0, 81, 13}},
    {{0, 65, 88}}, {{0, 0, 0}}, {{0, 0, 0}}, {{0, 0, 0}},
    {{174, 174, 174}}, {{20, 93, 238}}, {{71, 60, 255}}, {{127, 33, 255}},
    {{172, 21, 210}}, {{194, 27, 118}}, {{188, 49, 18}}, {{155, 81, 0}},
    {{103, 115, 0}}, {{48, 141, 0}}, {{3, 153, 0}}, {{0, 147, 57}},
    {{0, 126, 157}}, {{0, 0, 0}}, {{0, 0, 0}}, {{0, 0, 0}},
    {{255, 255, 255}}, {{98, 173, 255}}, {{150, 139, 255}}, {{207, 112, 255}},
    {{252, 100, 255}}, {{255, 106, 198}}, {{255, 128, 96}}, {{235, 160, 14}},
    {{183, 195, 0}}, {{127, 221, 0}}, {{81, 233, 43}}, {{58, 228, 136}},
    {{65, 205, 237}}, {{78, 78, 78}}, {{0, 0, 0}}, {{0, 0, 0}},
    {{255, 255, 255}}, {{190, 221, 255}}, {{212, 207, 255}}, {{235, 196, 255}},
    {{254, 191, 255}}, {{255, 194, 231}}, {{255, 203, 190}}, {{247, 216, 156}},
    {{225, 230, 139}}, {{202, 241, 143}}, {{183, 246, 168}}, {{174, 244, 206}},
    {{177, 235, 248}}, {{182, 182, 182}}, {{0, 0, 0}}, {{0, 0, 0}},
}};

/// ITU-R BT.601 in 1/256: the weights of red, green and blue.
inline constexpr unsigned red_weight = 77, green_weight = 150, blue_weight = 29;

[[nodiscard]] constexpr std::uint8_t luma(unsigned red, unsigned green, unsigned blue) {
    return static_cast<std::uint8_t>((red * red_weight + green * green_weight + blue * blue_weight + 128) >> 8u);
}

}  // namespace mario::picture
