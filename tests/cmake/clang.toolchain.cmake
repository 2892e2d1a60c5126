# Compiles with the newest clang that is installed.
set(clang_names "")
foreach(version RANGE 24 14 -1)
    list(APPEND clang_names clang++-${version})
endforeach()
find_program(PREFER_CLANG NAMES ${clang_names} clang++
    DOC "The clang++ to compile with" NO_CMAKE_FIND_ROOT_PATH)
if(NOT PREFER_CLANG)
    message(FATAL_ERROR "No clang++ found: run tools/install-deps --clang.")
endif()
set(CMAKE_CXX_COMPILER "${PREFER_CLANG}")
