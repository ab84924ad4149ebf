#include "recompiler/engine.h"

#include <dlfcn.h>

#include <cstring>

namespace mario::recompiler {

std::shared_ptr<const Program> open_engine(const std::string& path, const nes::Board& board, const char* source_hash) {
    const std::shared_ptr<void> object(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), [](void* opened) {
        if (opened != nullptr) dlclose(opened);
    });
    if (object == nullptr) {
        const char* reason = dlerror();
        throw EngineError(std::string("the engine cannot be loaded: ") + (reason ? reason : path.c_str()));
    }
    const auto* program = static_cast<const Program*>(dlsym(object.get(), "mario_engine"));
    if (program == nullptr) throw EngineError(path + " is no engine: it has no mario_engine");
    if (program->version != engine_version || program->machine_bytes != sizeof(Machine)) {
        throw EngineError(path + " is an engine of version " + std::to_string(program->version) + ", this library runs version " +
                          std::to_string(engine_version));
    }
    if (std::strcmp(program->source_hash, source_hash) != 0) {
        throw EngineError(path + " was written by another build of this library");
    }
    if (std::memcmp(program->rom, board.prg_rom.data(), board.prg_rom.size()) != 0) {
        throw EngineError(path + " was made from another ROM");
    }
    return {object, program};
}

}  // namespace mario::recompiler
