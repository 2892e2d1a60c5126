# Runs the compile-fail harness on the files beside this one, each of which must give one outcome.
cmake_minimum_required(VERSION 3.25)

function(expect mode file outcome)
    execute_process(COMMAND ${CMAKE_COMMAND} -DMODE=${mode} "-DSETTINGS=${SETTINGS}"
        "-DSOURCE=${CASES}/${file}" -P "${SCRIPT}"
        RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(outcome STREQUAL "passes")
        if(NOT result EQUAL 0)
            message(SEND_ERROR "${file} as ${mode}: should pass, but\n${output}")
        endif()
        return()
    endif()
    string(REGEX REPLACE "[ \n]+" " " output "${output}") # message() wraps its text
    string(FIND "${output}" "${outcome}" position)
    if(result EQUAL 0)
        message(SEND_ERROR "${file} as ${mode}: passed, should fail with: ${outcome}")
    elseif(position EQUAL -1)
        message(SEND_ERROR "${file} as ${mode}: failed, but not with: ${outcome}\n${output}")
    endif()
endfunction()

expect(misuse  misuse.cpp          passes)
expect(control misuse.cpp          passes)
expect(misuse  compiles.cpp        "misuse compiles")
expect(misuse  only_a_warning.cpp  "misuse compiles")
expect(misuse  other_words.cpp     "words not shown")
expect(misuse  quoted_source.cpp   "words not shown")
expect(control broken_control.cpp  "control does not compile")
expect(misuse  no_words.cpp        "has no comment")
expect(misuse  no_control.cpp      "no positive control")
