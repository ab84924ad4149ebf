#include "nes/apu.h"

#include "check.h"

using namespace mario::nes;

namespace {

ApuState powered_on() {
    ApuState apu;
    apu.power_on(0);
    return apu;
}

TEST(a_length_counter_is_seen_until_it_runs_out) {
    ApuState apu = powered_on();
    apu.write(0x4017, 0x40, 0);  // four steps from cycle 3, no interrupt
    apu.write(0x4015, 0x0F, 10);
    apu.write(0x4003, 0x18, 10);  // length 2
    apu.write(0x400B, 0x18, 10);
    apu.write(0x4008, 0x80, 10);  // the triangle's does not count
    CHECK(apu.read_status(14915) == 0x05 && apu.length[0] == 2);
    CHECK(apu.read_status(14916) == 0x05 && apu.length[0] == 1);  // 14913 cycles after the third one
    CHECK(apu.read_status(29831) == 0x05);
    CHECK(apu.read_status(29832) == 0x04);  // 29829 cycles after it
    apu.write(0x4015, 0x00, 30000);
    CHECK(apu.read_status(30001) == 0);
    apu.write(0x4003, 0x18, 30010);  // a silent channel takes no length
    CHECK(apu.read_status(30011) == 0);
}

TEST(the_frame_interrupt_is_raised_read_and_inhibited) {
    ApuState apu = powered_on();
    apu.write(0x4017, 0x00, 0);
    CHECK(apu.read_status(29830) == 0);
    CHECK(apu.read_status(29831) == 0x40);
    CHECK(apu.irq_cycle == never);
    CHECK(apu.read_status(29832) == 0x40);  // it is held for three cycles
    CHECK(apu.read_status(29834) == 0x40);
    CHECK(apu.read_status(29835) == 0);
    apu.catch_up(60000);
    CHECK(apu.irq_cycle == 3 + 29830 + 29828);
    apu.write(0x4017, 0x40, 60001);
    CHECK(apu.read_status(60002) == 0);
    CHECK(apu.next_irq() == never);
}

TEST(five_steps_clock_at_once_and_never_interrupt) {
    ApuState apu = powered_on();
    apu.write(0x4015, 0x01, 0);
    apu.write(0x4003, 0x18, 0);  // length 2
    apu.write(0x4017, 0x80, 2);
    CHECK(apu.read_status(6) == 0x01);
    CHECK(apu.length[0] == 1);
    CHECK(apu.read_status(5 + 14912) == 0x01);
    CHECK(apu.read_status(5 + 14913) == 0x00);
    CHECK((apu.read_status(200000) & 0x40) == 0);
}

TEST(a_sample_is_seen_while_it_plays_and_interrupts_at_its_end) {
    ApuState apu = powered_on();
    apu.write(0x4017, 0x40, 0);
    apu.write(0x4010, 0x8F, 0);
    apu.write(0x4013, 0x01, 0);  // 17 bytes
    apu.write(0x4015, 0x10, 100);
    unsigned bytes = 0;
    while (apu.dmc_cycle != never) apu.fetch_sample(), ++bytes;
    CHECK(bytes == 17);
    CHECK(apu.irq_cycle == 103 + 16 * 8 * 54);
    CHECK(apu.read_status(20000) == 0x80);
    apu.write(0x4015, 0x00, 20001);
    CHECK(apu.irq_cycle == never);
}

}  // namespace

int main() { return check::run_all(); }
