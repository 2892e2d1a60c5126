# Prints, for the umbrella and for each family, the seconds that a source including it takes to
# compile and its preprocessed lines, beside a source that includes only the standard headers.
# Run as: cmake -DCXX=<compiler> -DINCLUDE=<include folder> -DWORK=<scratch folder> -P <this file>

file(MAKE_DIRECTORY "${WORK}")
set(cases "standard headers only|vector|span|sstream|random|optional|string"
    "math|prefer/math/math.hpp" "core|prefer/core/core.hpp" "logprob|prefer/logprob/logprob.hpp"
    "loss|prefer/loss/loss.hpp" "umbrella|prefer/prefer.hpp")
foreach(case IN LISTS cases)
    string(REPLACE "|" ";" headers "${case}")
    list(POP_FRONT headers name)
    set(text "")
    foreach(header IN LISTS headers)
        string(APPEND text "#include <${header}>\n")
    endforeach()
    file(WRITE "${WORK}/case.cpp" "${text}")
    execute_process(COMMAND "${CXX}" -std=c++20 "-I${INCLUDE}" -E -P "${WORK}/case.cpp"
        OUTPUT_FILE "${WORK}/case.ii" COMMAND_ERROR_IS_FATAL ANY)
    file(READ "${WORK}/case.ii" preprocessed)
    string(REGEX MATCHALL "\n" ends "${preprocessed}")
    list(LENGTH ends line_count)
    set(best 999999)
    foreach(try RANGE 1 5)
        string(TIMESTAMP start "%s%f")
        execute_process(COMMAND "${CXX}" -std=c++20 "-I${INCLUDE}" -fsyntax-only
            "${WORK}/case.cpp" COMMAND_ERROR_IS_FATAL ANY)
        string(TIMESTAMP stop "%s%f")
        math(EXPR milliseconds "(${stop} - ${start}) / 1000")
        if(milliseconds LESS best)
            set(best ${milliseconds})
        endif()
    endforeach()
    message("${name}: ${best} ms, ${line_count} lines")
endforeach()
