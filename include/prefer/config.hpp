// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Every macro of the library, apart from the version. All of them may be predefined by the user.

#if defined(_MSVC_LANG)
#    if _MSVC_LANG < 202002L
#        error "prefer needs C++20: compile with /std:c++20."
#    endif
#elif __cplusplus < 202002L
#    error "prefer needs C++20: compile with -std=c++20 (for nvcc: --std=c++20)."
#endif

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#    error "prefer needs NaN and infinity: drop -ffast-math and -ffinite-math-only."
#endif

/// Marks a function that runs on the host and on a CUDA device; empty without a CUDA compiler.
#if !defined(PREFER_HOST_DEVICE)
#    if defined(__CUDACC__)
#        define PREFER_HOST_DEVICE __host__ __device__
#    else
#        define PREFER_HOST_DEVICE
#    endif
#endif

/// Marks a loop whose calls are all to be inlined: packs of lanes then stay in registers.
#if !defined(PREFER_FLATTEN)
#    if defined(__GNUC__) || defined(__clang__)
#        define PREFER_FLATTEN __attribute__((flatten))
#    else
#        define PREFER_FLATTEN
#    endif
#endif
