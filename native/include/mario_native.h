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

#define MARIO_ABI_VERSION 1
#define MARIO_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mario_status {
    MARIO_OK = 0,
    MARIO_BAD_CARTRIDGE = 1, /* not a ROM file that this console can run */
    MARIO_INTERNAL = 2       /* out of memory, or a defect of this library */
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

#ifdef __cplusplus
}
#endif

#endif
