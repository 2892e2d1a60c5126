# One program with a unit for each of several instruction sets, as docs/instruction-sets.md says:
#   isa/dispatch   runs it: the sets agree
#   isa/symbols    no function of the library is shared between the units, and what they do share
#                  (std:: templates) is the baseline's in the program
# Needs x86-64, and gcc or clang.

if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8
        OR NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" OR MSVC OR APPLE)
    message(STATUS "prefer: skipping tests/isa: needs gcc or clang for x86-64")
    return()
endif()

include(CheckCXXCompilerFlag)
set(isa_flags_baseline "")
set(isa_flags_avx2 -mavx2 -mfma)
set(isa_flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma)

add_executable(isa.dispatch isa/main.cpp)
target_link_libraries(isa.dispatch PRIVATE prefer::prefer prefer_warnings)
set(isa_objects "")
# From the least to the most: the linker keeps the first of several copies of a std:: template.
foreach(set IN ITEMS baseline avx2 avx512)
    list(JOIN isa_flags_${set} " " flags)
    check_cxx_compiler_flag("${flags}" PREFER_HAS_FLAGS_${set})
    if(NOT PREFER_HAS_FLAGS_${set})
        message(STATUS "prefer: tests/isa without ${set}: the compiler does not know ${flags}")
        continue()
    endif()
    add_library(isa_${set} OBJECT isa/kernels.cpp)
    target_link_libraries(isa_${set} PRIVATE prefer::prefer prefer_warnings)
    target_compile_definitions(isa_${set} PRIVATE ISA_ENTRY=${set})
    target_compile_options(isa_${set} PRIVATE ${isa_flags_${set}})
    if(NOT set STREQUAL "baseline")
        target_compile_definitions(isa_${set} PRIVATE prefer=prefer_${set})
        string(TOUPPER ${set} upper)
        target_compile_definitions(isa.dispatch PRIVATE ISA_HAS_${upper})
    endif()
    target_sources(isa.dispatch PRIVATE $<TARGET_OBJECTS:isa_${set}>)
    list(APPEND isa_objects $<TARGET_OBJECTS:isa_${set}>)
endforeach()
set_target_properties(isa.dispatch PROPERTIES CXX_EXTENSIONS OFF)

add_test(NAME isa/dispatch COMMAND isa.dispatch)
add_test(NAME isa/symbols COMMAND "${CMAKE_CURRENT_LIST_DIR}/instruction_sets.sh" "${CMAKE_NM}"
    "${CMAKE_OBJDUMP}" $<TARGET_FILE:isa.dispatch> ${isa_objects}
    COMMAND_EXPAND_LISTS)
set_tests_properties(isa/dispatch isa/symbols PROPERTIES LABELS isa
    TIMEOUT ${PREFER_TEST_TIMEOUT})
