# A BLAS with the C interface, as the target CBLAS::CBLAS. CMake's own FindBLAS looks for the Fortran
# one alone, and a `cblas.h` may stand beside a library without those symbols.
# OpenBLAS comes first: what a distribution calls libblas may be the slow reference.

find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas openblas-pthread)
find_library(CBLAS_LIBRARY NAMES openblas blis blas cblas PATH_SUFFIXES openblas-pthread)
mark_as_advanced(CBLAS_INCLUDE_DIR CBLAS_LIBRARY)

if(CBLAS_INCLUDE_DIR AND CBLAS_LIBRARY)
    include(CheckCXXSourceCompiles)
    set(CMAKE_REQUIRED_INCLUDES "${CBLAS_INCLUDE_DIR}")
    set(CMAKE_REQUIRED_LIBRARIES "${CBLAS_LIBRARY}")
    check_cxx_source_compiles(
        "#include <cblas.h>\nint main() { return cblas_ddot(0, nullptr, 1, nullptr, 1) != 0 || &cblas_sgemm == nullptr; }"
        CBLAS_LINKS)
    unset(CMAKE_REQUIRED_INCLUDES)
    unset(CMAKE_REQUIRED_LIBRARIES)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CBLAS REQUIRED_VARS CBLAS_LIBRARY CBLAS_INCLUDE_DIR CBLAS_LINKS)
if(CBLAS_FOUND AND NOT TARGET CBLAS::CBLAS)
    add_library(CBLAS::CBLAS INTERFACE IMPORTED)
    target_include_directories(CBLAS::CBLAS INTERFACE "${CBLAS_INCLUDE_DIR}")
    target_link_libraries(CBLAS::CBLAS INTERFACE "${CBLAS_LIBRARY}")
endif()
