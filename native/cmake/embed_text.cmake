# Writes ${OUTPUT}: the text of ${INPUT} as a string constant, for what the library writes on the user's machine.
file(READ ${INPUT} text)
string(REPLACE "#pragma once\n" "" text "${text}")  # it will be a main file
file(WRITE ${OUTPUT} "#pragma once\nstatic constexpr const char* ${NAME} = R\"text(${text})text\";\n")
