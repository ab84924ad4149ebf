# Writes ${OUTPUT}: one hash over all sources below ${ROOT} that make the library.
# mario_a3c.native.library computes the same hash in Python, to notice a library that is older than its sources.
file(GLOB_RECURSE files RELATIVE ${ROOT}
     ${ROOT}/cmake/*.cmake ${ROOT}/include/*.h ${ROOT}/src/*.h ${ROOT}/src/*.cpp)
list(APPEND files CMakeLists.txt)
list(SORT files COMPARE STRING)
set(listing "")
foreach(file IN LISTS files)
  file(SHA256 ${ROOT}/${file} digest)
  string(APPEND listing "${file} ${digest}\n")
endforeach()
string(SHA256 source_hash "${listing}")
file(WRITE ${OUTPUT} "#pragma once\n#define MARIO_SOURCE_HASH \"${source_hash}\"\n")
