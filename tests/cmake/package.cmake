# Installs the library to a scratch prefix, moves the prefix, and uses the library from outside: by
# find_package and by add_subdirectory. All steps are package_test.cmake.

foreach(step IN ITEMS install relocatable find_package add_subdirectory refuses)
    add_test(NAME package/${step} COMMAND ${CMAKE_COMMAND}
        "-DSTEP=${step}"
        "-DSOURCE=${PROJECT_SOURCE_DIR}"
        "-DBUILD=${PROJECT_BINARY_DIR}"
        "-DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/package"
        "-DVERSION=${PROJECT_VERSION}"
        "-DGENERATOR=${CMAKE_GENERATOR}"
        "-DCOMPILER=${CMAKE_CXX_COMPILER}"
        -P "${CMAKE_CURRENT_SOURCE_DIR}/package/package_test.cmake")
    set_tests_properties(package/${step} PROPERTIES LABELS package TIMEOUT 300)
    if(step STREQUAL "install")
        set_tests_properties(package/${step} PROPERTIES FIXTURES_SETUP package)
    elseif(NOT step STREQUAL "add_subdirectory")
        set_tests_properties(package/${step} PROPERTIES FIXTURES_REQUIRED package)
    endif()
endforeach()
