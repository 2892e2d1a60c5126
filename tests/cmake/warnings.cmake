# prefer_warnings: how the tests, examples and benchmarks of this repository are compiled. It is
# linked PRIVATE by our own executables and is neither installed nor visible to a user of the
# library.
add_library(prefer_warnings INTERFACE)

if(MSVC)
    set(warning_flags /W4)
    set(error_flag /WX)
else()
    set(warning_flags
        -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion)
    set(error_flag -Werror)
    # The macros of Catch2 and Google Benchmark use __COUNTER__, which recent clangs call an
    # extension wherever the macro is used.
    include(CheckCXXCompilerFlag)
    check_cxx_compiler_flag(-Wc2y-extensions PREFER_HAS_C2Y_WARNING)
    if(PREFER_HAS_C2Y_WARNING)
        list(APPEND warning_flags -Wno-c2y-extensions)
    endif()
endif()
if(PREFER_WARNINGS_AS_ERRORS)
    list(APPEND warning_flags ${error_flag})
endif()
target_compile_options(prefer_warnings INTERFACE ${warning_flags})

if(PREFER_SANITIZE)
    set(sanitize_flags "-fsanitize=${PREFER_SANITIZE}" -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    target_compile_options(prefer_warnings INTERFACE ${sanitize_flags})
    target_link_options(prefer_warnings INTERFACE ${sanitize_flags})
endif()
