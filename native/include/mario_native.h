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

#define MARIO_ABI_VERSION 3
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

/* A part of the screen (even numbers inside 256 x 240), grey or in colour. Grey shrinks to out_width x out_height by exact area
 * averages of the luma (77 R + 150 G + 29 B + 128) / 256, rounded half up; colour keeps its size.
 */
typedef struct mario_view {
    uint32_t x, y, width, height;
    uint32_t out_width, out_height;
    uint32_t is_rgb; /* 1: [out_height, out_width, 3]; 0: [out_height, out_width] */
} mario_view;

MARIO_API size_t mario_view_bytes(void); /* sizeof(mario_view) as compiled */

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

/* For comparing with other machines, instruction by instruction: runs whole instructions until a CPU cycle, counted from power-on, is
 * reached, across frames. A save-state taken within a frame may be refused when it is loaded. */
typedef struct mario_cpu {
    uint64_t cycle; /* CPU cycles since power-on */
    uint32_t pc, a, x, y, s, p;
} mario_cpu;

MARIO_API size_t mario_cpu_bytes(void); /* sizeof(mario_cpu) as compiled */
MARIO_API void mario_console_cpu(const mario_console* console, mario_cpu* cpu);
MARIO_API void mario_console_run_to_cycle(mario_console* console, uint8_t buttons, uint64_t cycle);

/* A save-state is mario_state_bytes() long. MARIO_BAD_STATE leaves the console as it was. */
MARIO_API size_t mario_state_bytes(void);
MARIO_API int32_t mario_console_save(const mario_console* console, uint8_t* state, size_t state_bytes);
MARIO_API int32_t mario_console_load(mario_console* console, const uint8_t* state, size_t state_bytes);

/* The picture of the last frame; out has out_width * out_height bytes, times 3 in colour. */
MARIO_API int32_t mario_console_observe(const mario_console* console, const mario_view* view, uint8_t* out, size_t out_bytes);

/* Many consoles with one cartridge, stepped by a pool of threads. A handle belongs to one thread at a time. Results depend on
 * neither the number of threads nor the number of consoles.
 */
typedef struct mario_batch mario_batch;

typedef struct mario_batch_config {
    uint32_t num_consoles;
    uint32_t num_threads;       /* 0: as many as the machine has */
    uint32_t frame_skip;        /* frames per step, all with the same buttons */
    uint32_t num_snapshots;     /* places for states to reset to */
    uint32_t ram_fill;          /* every byte of RAM at power-on */
    uint32_t takes_maximum;     /* 1: each pixel is the brighter one of the last two frames */
    uint32_t num_ram_addresses; /* 0: a step reports all 2,048 bytes of RAM */
    mario_view view;
} mario_batch_config;

typedef struct mario_step_flags {
    uint32_t lag_frames; /* frames of the step in which the program did not read the controller */
    uint32_t is_jammed;  /* the CPU has stopped for good; only a snapshot helps */
} mario_step_flags;

MARIO_API size_t mario_batch_config_bytes(void); /* sizeof(mario_batch_config) as compiled */
MARIO_API size_t mario_step_flags_bytes(void);   /* sizeof(mario_step_flags) as compiled */

/* Copies the cartridge and the addresses (num_ram_addresses of them, below 2,048; may be NULL when 0) and switches all consoles
 * on. On failure *batch stays as it was. */
MARIO_API int32_t mario_batch_create(const uint8_t* file, size_t file_bytes, const mario_batch_config* config,
                                     const uint16_t* ram_addresses, mario_batch** batch);
MARIO_API void mario_batch_destroy(mario_batch* batch); /* NULL is allowed; joins the threads */

/* Runs frame_skip frames on every console, except where snapshots[i] >= 0: that console becomes the snapshot and does not run.
 * Then writes one row per console into each array that is not NULL: the view, the bytes of RAM, the flags. buttons has one byte
 * per console; snapshots may be NULL. On failure nothing has changed. */
MARIO_API int32_t mario_batch_step(mario_batch* batch, const uint8_t* buttons, const int32_t* snapshots, uint8_t* observations,
                                   uint8_t* ram, mario_step_flags* flags);

/* Places to reset to: from a save-state, or from a console of the batch as it is now. */
MARIO_API int32_t mario_batch_set_snapshot(mario_batch* batch, uint32_t snapshot, const uint8_t* state, size_t state_bytes);
MARIO_API int32_t mario_batch_take_snapshot(mario_batch* batch, uint32_t snapshot, uint32_t console);

MARIO_API int32_t mario_batch_copy(mario_batch* batch, uint32_t to, uint32_t from);
MARIO_API int32_t mario_batch_save(const mario_batch* batch, uint32_t console, uint8_t* state, size_t state_bytes);
MARIO_API int32_t mario_batch_load(mario_batch* batch, uint32_t console, const uint8_t* state, size_t state_bytes);

/* The 2,048 bytes of a console's RAM, to be read and written between calls; NULL for an index out of range. Valid until the
 * batch is destroyed. */
MARIO_API uint8_t* mario_batch_ram(mario_batch* batch, uint32_t console);
MARIO_API uint32_t mario_batch_num_threads(const mario_batch* batch); /* as really used */

#ifdef __cplusplus
}
#endif

#endif
