# One step of the package tests.
#   STEP      install, relocatable, find_package, add_subdirectory or refuses
#   SOURCE    source folder of the library      BUILD     its build folder
#   SCRATCH   folder of these tests             VERSION   the version of the project
#   GENERATOR, COMPILER                         what the consumer is built with
cmake_minimum_required(VERSION 3.25)
set(prefix "${SCRATCH}/moved")
set(consumer "${CMAKE_CURRENT_LIST_DIR}/consumer")

# The packages of this machine are irrelevant to the consumer; only what is passed here counts.
foreach(variable IN ITEMS CMAKE_PREFIX_PATH prefer_DIR prefer_ROOT CXXFLAGS CMAKE_GENERATOR)
    unset(ENV{${variable}})
endforeach()

function(run)
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output
        ERROR_VARIABLE output)
    if(NOT result EQUAL 0)
        list(JOIN ARGV " " command)
        message(FATAL_ERROR "failed (${result}): ${command}\n${output}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

# Configures, builds, runs and installs the consumer, which also exports a target of its own.
function(build_consumer folder)
    file(REMOVE_RECURSE "${folder}")
    run(${CMAKE_COMMAND} -S "${consumer}" -B "${folder}/build" -G "${GENERATOR}"
        "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_BUILD_TYPE=Debug
        "-DEXPECTED_VERSION=${VERSION}" ${ARGN})
    run(${CMAKE_COMMAND} --build "${folder}/build")
    run("${folder}/build/consumer")
    string(STRIP "${output}" output)
    if(NOT output STREQUAL "${VERSION}")
        message(FATAL_ERROR "the consumer prints \"${output}\", the project says ${VERSION}")
    endif()
    run(${CMAKE_COMMAND} --install "${folder}/build" --prefix "${folder}/prefix")
    file(READ "${folder}/prefix/share/cmake/consumer/consumer-targets.cmake" exported)
    if(NOT exported MATCHES "prefer::prefer")
        message(FATAL_ERROR "the consumer's export does not name prefer::prefer")
    endif()
endfunction()

if(STEP STREQUAL "install")
    file(REMOVE_RECURSE "${SCRATCH}/staged" "${prefix}")
    run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${SCRATCH}/staged")
    file(RENAME "${SCRATCH}/staged" "${prefix}")

elseif(STEP STREQUAL "relocatable")
    file(GLOB_RECURSE files "${prefix}/*")
    set(headers 0)
    foreach(file IN LISTS files)
        file(READ "${file}" text)
        foreach(path IN ITEMS "${SOURCE}" "${BUILD}" "${SCRATCH}")
            string(FIND "${text}" "${path}" position)
            if(NOT position EQUAL -1)
                message(SEND_ERROR "${file} contains ${path}")
            endif()
        endforeach()
        if(file MATCHES "\\.(hpp|cuh)$")
            math(EXPR headers "${headers} + 1")
        elseif(NOT file MATCHES "/(prefer-config|prefer-config-version)\\.cmake$|/LICENSE$")
            message(SEND_ERROR "${file} should not be installed")
        endif()
    endforeach()
    file(GLOB_RECURSE ours "${SOURCE}/include/*.hpp" "${SOURCE}/include/*.cuh")
    list(LENGTH ours expected)
    if(NOT headers EQUAL expected OR headers EQUAL 0)
        message(SEND_ERROR "${headers} headers are installed, the source has ${expected}")
    endif()

elseif(STEP STREQUAL "find_package")
    build_consumer("${SCRATCH}/by_package" -DCONSUME=package "-DCMAKE_PREFIX_PATH=${prefix}")

elseif(STEP STREQUAL "add_subdirectory")
    # A user who exports a target that links ours turns our install rules on.
    build_consumer("${SCRATCH}/by_subdirectory" -DCONSUME=subdirectory "-DPREFER_SOURCE=${SOURCE}"
        -DPREFER_INSTALL=ON)

elseif(STEP STREQUAL "refuses")
    # A request for a later major version is refused.
    execute_process(COMMAND ${CMAKE_COMMAND} -S "${consumer}" -B "${SCRATCH}/refused"
        -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCONSUME=package
        "-DCMAKE_PREFIX_PATH=${prefix}" -DEXPECTED_VERSION=99.0.0
        RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(result EQUAL 0 OR NOT output MATCHES "requested version \"99.0.0\"")
        message(FATAL_ERROR "version 99.0.0 was not refused:\n${output}")
    endif()

else()
    message(FATAL_ERROR "unknown step ${STEP}")
endif()
