/* The whole boundary between the console and its callers, as a C ABI.
 *
 * Every function is safe to call from any thread unless it says otherwise. What a caller passes in stays the
 * caller's; nothing here keeps a pointer after it returns. A function that can fail returns MARIO_OK or another
 * mario_status, and leaves a sentence for people in mario_last_error() of the same thread.
 *
 * A change to any declaration below raises MARIO_ABI_VERSION, here and in src/mario_a3c/native/library.py.
 */
#ifndef MARIO_NATIVE_H
#define MARIO_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#define MARIO_ABI_VERSION 2
#define MARIO_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mario_status {
    MARIO_OK = 0,
    MARIO_BAD_CARTRIDGE = 1, /* not a ROM file that this console can run */
    MARIO_INTERNAL = 2,      /* out of memory, or a defect of this library */
    MARIO_BAD_STATE = 3,     /* not a save-state that this console can load */
    MARIO_BAD_ARGUMENT = 4   /* a size, an index or a choice out of its range */
} mario_status;

typedef struct mario_cartridge_info {
    uint32_t prg_rom_bytes;       /* 16384 or 32768 */
    uint32_t chr_rom_bytes;       /* 8192, or 0 where the cartridge has 8 KB of CHR RAM instead */
    uint32_t prg_ram_bytes;       /* at $6000: 8192 or 0 */
    uint32_t vertical_mirroring;  /* 1: the name tables lie side by side; 0: one above the other */
} mario_cartridge_info;

/* What the loader compares before it calls anything else. */
MARIO_API uint32_t mario_abi_version(void);
MARIO_API const char* mario_source_hash(void);         /* 64 hexadecimal digits; lives as long as the library */
MARIO_API size_t mario_cartridge_info_bytes(void);     /* sizeof(mario_cartridge_info) as compiled */

/* Why the last failing call of this thread failed; "" before the first. Valid until the thread's next call. */
MARIO_API const char* mario_last_error(void);

/* Checks a whole .nes file in memory and describes it. MARIO_BAD_CARTRIDGE leaves *info as it was. */
MARIO_API int32_t mario_read_cartridge(const uint8_t* file, size_t file_bytes, mario_cartridge_info* info);

/* One console. A handle belongs to one thread at a time. Buttons are bits: A 1, B 2, select 4, start 8, up 16, down 32,
 * left 64, right 128.
 */
typedef struct mario_console mario_console;

/* Copies the cartridge and switches on with RAM full of zeros. On failure *console stays as it was. */
MARIO_API int32_t mario_console_create(const uint8_t* file, size_t file_bytes, mario_console** console);
MARIO_API void mario_console_destroy(mario_console* console); /* NULL is allowed */

/* Switches off and on; every byte of RAM becomes ram_fill (FCEUmm has 0xFF, nes-py 0x00; the machine's is random). */
MARIO_API void mario_console_power_on(mario_console* console, uint8_t ram_fill);
MARIO_API void mario_console_reset(mario_console* console);
/* From vertical blank to vertical blank, num_frames times. */
MARIO_API void mario_console_run_frames(mario_console* console, uint8_t buttons, uint32_t num_frames);
/* 1 (as created): idle loops are skipped; 0: they are executed. The states are the same; for tests. */
MARIO_API void mario_console_set_idle_skip(mario_console* console, int32_t skips);

/* The console's own memory, to be read and written between calls. Valid until it is destroyed. */
MARIO_API uint8_t* mario_console_ram(mario_console* console);     /* 2,048 bytes */
MARIO_API uint8_t* mario_console_prg_ram(mario_console* console); /* 8,192 bytes; without effect where the board has none */

MARIO_API uint64_t mario_console_frame_count(const mario_console* console);
MARIO_API uint64_t mario_console_lag_frames(const mario_console* console); /* frames in which the controller was not read */
MARIO_API int32_t mario_console_is_jammed(const mario_console* console);   /* the CPU has stopped for good */

/* A save-state is mario_state_bytes() long. MARIO_BAD_STATE leaves the console as it was. */
MARIO_API size_t mario_state_bytes(void);
MARIO_API int32_t mario_console_save(const mario_console* console, uint8_t* state, size_t state_bytes);
MARIO_API int32_t mario_console_load(mario_console* console, const uint8_t* state, size_t state_bytes);

#ifdef __cplusplus
}
#endif

#endif
