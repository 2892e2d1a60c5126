# Misuse that must not compile, with the words the user is shown.
#
# Each file of tests/compile_fail/ holds one misuse, hidden when PREFER_CONTROL is defined, and says
# in one or more comments what the compiler has to print:
#
#     // expect: "cannot be viewed as a vector"
#
# Two CTest entries per file: compile_fail/NAME compiles the file, which must fail and show the
# words; compile_fail/NAME/control compiles it with -DPREFER_CONTROL, which must succeed.

set(compile_fail_script "${CMAKE_CURRENT_LIST_DIR}/compile_fail_run.cmake")
set(compile_fail_selftest "${CMAKE_CURRENT_LIST_DIR}/compile_fail_selftest")

# Settings are handed over in a file, where generator expressions are evaluated.
set(compile_fail_includes "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/tests")
foreach(word IN LISTS dependency_words)
    if(TARGET ${dependency_${word}})
        list(APPEND compile_fail_includes
            "$<TARGET_PROPERTY:${dependency_${word}},INTERFACE_INCLUDE_DIRECTORIES>")
    endif()
endforeach()
set(compile_fail_settings "${CMAKE_CURRENT_BINARY_DIR}/compile_fail_settings.cmake")
file(GENERATE OUTPUT "${compile_fail_settings}" CONTENT
"set(compiler [[${CMAKE_CXX_COMPILER}]])
set(compiler_id [[${CMAKE_CXX_COMPILER_ID}]])
set(includes [[$<REMOVE_DUPLICATES:${compile_fail_includes}>]])
set(scratch [[${CMAKE_CURRENT_BINARY_DIR}/compile_fail]])
")

file(GLOB_RECURSE compile_fail_sources CONFIGURE_DEPENDS
    RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail" "compile_fail/*.cpp")
foreach(source IN LISTS compile_fail_sources)
    string(REGEX REPLACE "\\.cpp$" "" name "${source}")
    set(missing "")
    foreach(word IN LISTS dependency_words)
        if(name MATCHES "${word}" AND NOT TARGET ${dependency_${word}})
            set(missing ${word})
        endif()
    endforeach()
    if(missing)
        message(STATUS "prefer: skipping tests/compile_fail/${source}: ${missing} not found")
        continue()
    endif()
    foreach(mode IN ITEMS misuse control)
        if(mode STREQUAL "misuse")
            set(entry "compile_fail/${name}")
        else()
            set(entry "compile_fail/${name}/control")
        endif()
        add_test(NAME ${entry} COMMAND ${CMAKE_COMMAND} -DMODE=${mode}
            "-DSETTINGS=${compile_fail_settings}"
            "-DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/${source}"
            -P "${compile_fail_script}")
        set_tests_properties(${entry} PROPERTIES LABELS compile_fail TIMEOUT ${PREFER_TEST_TIMEOUT})
    endforeach()
endforeach()

# The harness must itself fail on a misuse that compiles, and so on.
add_test(NAME compile_fail/selftest COMMAND ${CMAKE_COMMAND}
    "-DSETTINGS=${compile_fail_settings}" "-DSCRIPT=${compile_fail_script}"
    "-DCASES=${compile_fail_selftest}" -P "${compile_fail_selftest}/run.cmake")
set_tests_properties(compile_fail/selftest PROPERTIES LABELS compile_fail TIMEOUT 120)
