# Checks on every public header by itself:
#   - it compiles alone, and included twice, with more warnings than the rest and all of them errors;
#   - it leaves no macro behind but those that start with PREFER_ (entry headers/macros);
#   - two translation units that include every header link, also without inlining (headers/link…).
# A header of a backend whose package is absent is left out with a message.

set(generated "${CMAKE_CURRENT_BINARY_DIR}/headers")

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include"
    "${PROJECT_SOURCE_DIR}/include/prefer/*.hpp")
set(checked_headers "")
foreach(header IN LISTS headers)
    set(missing "")
    if(header MATCHES "^prefer/backend/(cuda|nccl|torch|mpi)")
        # Needs a compiler or a package that this target does not have.
        string(REGEX REPLACE "^prefer/backend/([a-z]+).*$" "\\1" missing "${header}")
    endif()
    foreach(word IN LISTS dependency_words)
        if(header MATCHES "^prefer/backend/.*${word}" AND NOT TARGET ${dependency_${word}})
            set(missing ${word})
        endif()
    endforeach()
    if(missing)
        message(STATUS "prefer: skipping the checks of ${header}: ${missing} not available")
    else()
        list(APPEND checked_headers "${header}")
    endif()
endforeach()

add_library(header_flags INTERFACE)
target_link_libraries(header_flags INTERFACE prefer::prefer)
foreach(word IN LISTS dependency_words)
    if(TARGET ${dependency_${word}})
        target_link_libraries(header_flags INTERFACE ${dependency_${word}})
    endif()
endforeach()
target_compile_options(header_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion
    -Wsign-conversion -Wshadow -Wdouble-promotion -Wfloat-equal -Wundef -Werror)

# --- alone, and twice ----------------------------------------------------------------------------
set(alone_sources "")
set(every_include "")
foreach(header IN LISTS checked_headers)
    string(MAKE_C_IDENTIFIER "${header}" name)
    file(CONFIGURE OUTPUT "${generated}/alone/${name}.cpp" CONTENT
        "#include <${header}>\n#include <${header}>\n" @ONLY)
    list(APPEND alone_sources "${generated}/alone/${name}.cpp")
    string(APPEND every_include "#include <${header}>\n")
endforeach()
add_library(headers_alone OBJECT ${alone_sources})
set_target_properties(headers_alone PROPERTIES CXX_EXTENSIONS OFF)
target_link_libraries(headers_alone PRIVATE header_flags)

# --- two translation units -----------------------------------------------------------------------
file(CONFIGURE OUTPUT "${generated}/link_main.cpp" CONTENT
    "${every_include}int other();\nint main() {\n    return other();\n}\n" @ONLY)
file(CONFIGURE OUTPUT "${generated}/link_other.cpp" CONTENT
    "#undef NDEBUG\n${every_include}int other();\nint other() {\n    return 0;\n}\n" @ONLY)
foreach(variant IN ITEMS link link_no_inline)
    add_executable(headers_${variant} "${generated}/link_main.cpp" "${generated}/link_other.cpp")
    set_target_properties(headers_${variant} PROPERTIES CXX_EXTENSIONS OFF)
    target_link_libraries(headers_${variant} PRIVATE header_flags Threads::Threads)
    add_test(NAME headers/${variant} COMMAND headers_${variant})
    set_tests_properties(headers/${variant} PROPERTIES LABELS headers
        TIMEOUT ${PREFER_TEST_TIMEOUT})
endforeach()
set_property(SOURCE "${generated}/link_main.cpp" APPEND PROPERTY COMPILE_DEFINITIONS NDEBUG)
target_compile_options(headers_link_no_inline PRIVATE -fno-inline)

# --- macros --------------------------------------------------------------------------------------
# The preprocessor is asked to keep definitions and line markers, so each macro is known with the
# file that defines it.
file(CONFIGURE OUTPUT "${generated}/macros.cpp" CONTENT "${every_include}" @ONLY)
set(macro_includes "${PROJECT_SOURCE_DIR}/include")
foreach(word IN LISTS dependency_words)
    if(TARGET ${dependency_${word}})
        list(APPEND macro_includes
            "$<TARGET_PROPERTY:${dependency_${word}},INTERFACE_INCLUDE_DIRECTORIES>")
    endif()
endforeach()
set(macro_includes "$<REMOVE_DUPLICATES:${macro_includes}>")
add_test(NAME headers/macros COMMAND "${CMAKE_CURRENT_LIST_DIR}/macro_leaks.sh"
    "${PROJECT_SOURCE_DIR}/include/prefer/" "${CMAKE_CXX_COMPILER}" -std=c++20
    "-I$<JOIN:${macro_includes},;-I>" "${generated}/macros.cpp"
    COMMAND_EXPAND_LISTS)
# The check must itself see a leak.
add_test(NAME headers/macros/selftest COMMAND "${CMAKE_CURRENT_LIST_DIR}/macro_leaks_selftest.sh"
    "${CMAKE_CURRENT_LIST_DIR}/macro_leaks.sh" "${generated}/selftest" "${CMAKE_CXX_COMPILER}")
set_tests_properties(headers/macros headers/macros/selftest PROPERTIES LABELS headers
    TIMEOUT ${PREFER_TEST_TIMEOUT})
