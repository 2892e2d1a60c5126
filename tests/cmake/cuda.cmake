# Compiles every tests/cuda/*.cu for the architectures below, and one source that includes every
# header, with all warnings of the device and the host compiler as errors and without the flag that
# lets device code call host-only constexpr functions. Objects only: no GPU is needed.
#
# nvcc is called directly: it is often newer than this CMake, which then fails to detect it.

set(PREFER_CUDA_ARCHITECTURES 90 CACHE STRING "CUDA architectures that tests/cuda compiles for")
find_program(PREFER_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin
    DOC "The CUDA compiler")

if(NOT PREFER_NVCC)
    message(STATUS "prefer: skipping tests/cuda: nvcc not found")
    add_test(NAME cuda COMMAND ${CMAKE_COMMAND} -E echo "skipped: nvcc not found")
    set_tests_properties(cuda PROPERTIES LABELS cuda SKIP_REGULAR_EXPRESSION "skipped: nvcc")
    return()
endif()

set(cuda_flags -std=c++20 -O2 -Werror all-warnings "-I${PROJECT_SOURCE_DIR}/include"
    "-I${PROJECT_SOURCE_DIR}/tests")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND cuda_flags -ccbin "${CMAKE_CXX_COMPILER}")
endif()
# -Wpedantic is left out: the code that nvcc generates has line markers in GNU style.
foreach(flag IN ITEMS -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion
        -Werror)
    list(APPEND cuda_flags -Xcompiler "${flag}")
endforeach()
foreach(architecture IN LISTS PREFER_CUDA_ARCHITECTURES)
    list(APPEND cuda_flags -gencode "arch=compute_${architecture},code=sm_${architecture}")
endforeach()

# Every header in one source, apart from those that include a host-only package.
file(GLOB_RECURSE cuda_headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include"
    "${PROJECT_SOURCE_DIR}/include/prefer/*.hpp" "${PROJECT_SOURCE_DIR}/include/prefer/*.cuh")
list(FILTER cuda_headers EXCLUDE REGEX "^prefer/backend/(eigen|xtensor|torch|mpi|nccl)")
set(every_header "${CMAKE_CURRENT_BINARY_DIR}/cuda/every_header.cu")
list(TRANSFORM cuda_headers REPLACE "^(.+)$" "#include <\\1>\n" OUTPUT_VARIABLE every_include)
list(JOIN every_include "" every_include)
file(CONFIGURE OUTPUT "${every_header}" CONTENT "${every_include}" @ONLY)

file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS "cuda/*.cu")
set(cuda_objects "")
list(APPEND cuda_sources "${every_header}")
foreach(source IN LISTS cuda_sources)
    cmake_path(GET source STEM name)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}.o")
    add_custom_command(OUTPUT "${object}"
        COMMAND "${PREFER_NVCC}" ${cuda_flags} -MD -MF "${object}.d" -c "${source}" -o "${object}"
        DEPENDS "${source}"
        DEPFILE "${object}.d"
        COMMENT "Building CUDA object ${name}.o"
        VERBATIM)
    list(APPEND cuda_objects "${object}")
endforeach()
add_custom_target(cuda_objects ALL DEPENDS ${cuda_objects})

# Under an older language level the user is told so, in one sentence.
add_test(NAME cuda/needs_cxx20 COMMAND "${PREFER_NVCC}" -std=c++17
    "-I${PROJECT_SOURCE_DIR}/include" -c "${every_header}"
    -o "${CMAKE_CURRENT_BINARY_DIR}/cuda/needs_cxx20.o")
set_tests_properties(cuda/needs_cxx20 PROPERTIES LABELS cuda TIMEOUT ${PREFER_TEST_TIMEOUT}
    PASS_REGULAR_EXPRESSION "prefer needs C\\+\\+20")
