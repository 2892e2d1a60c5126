// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The products of another backend taken from a BLAS. Needs a `cblas.h` and a library that has its
/// `cblas_sgemm` and `cblas_dgemm` (OpenBLAS, BLIS, MKL, …), which the program links. Where the
/// header has another name, define `PREFER_CBLAS_HEADER` as it, with its quotes or brackets.

#include <cstddef>
#include <limits>

#ifdef PREFER_CBLAS_HEADER
#    include PREFER_CBLAS_HEADER
#else
#    include <cblas.h>
#endif

#include <prefer/core/backend.hpp>
#include <prefer/core/multiply.hpp>
#include <prefer/core/view.hpp>

namespace prefer::backend {

/// The backend `Base`, with matrix products by a BLAS.
///
/// The library calls the BLAS from its own threads, with blocks of a fixed shape: keep the BLAS at
/// one thread of its own (`OPENBLAS_NUM_THREADS=1` and the like), or the two multiply. Then the
/// number of threads changes no bit of a result, as long as the same BLAS runs on the same
/// processor. What the BLAS allocates is its own affair.
///
///     prefer::backend::blas const on{prefer::backend::eigen{.threads = 2}};
///     prefer::linear_token_log_probs(on, hidden, head, labels, token_logp);
template <class Base = plain>
    requires backend_like<Base>
struct blas : Base {
    void multiply(matrix_view<float const> a, matrix_view<float const> b, matrix_view<float> c,
                  bool add) const {
        run(&cblas_sgemm, a, b, c, add);
    }
    void multiply(matrix_view<double const> a, matrix_view<double const> b, matrix_view<double> c,
                  bool add) const {
        run(&cblas_dgemm, a, b, c, add);
    }

private:
    /// BLAS counts in int, or in a wider type where it was built so; a distance beyond int is left
    /// to the plain loop. `f` is the routine for C.
    template <class F, class C>
    static void run(F const& f, matrix_view<C const> a, matrix_view<C const> b, matrix_view<C> c,
                    bool add) {
        detail::matrix_lines const la(a), lb(b), lc(c);
        if (!lc.along_rows) {
            run(f, detail::transposed(b), detail::transposed(a), detail::transposed(c), add);
            return;
        }
        auto const fits = [](::std::ptrdiff_t x) { return x <= ::std::numeric_limits<int>::max(); };
        if (!fits(la.apart) || !fits(lb.apart) || !fits(lc.apart)) {
            detail::multiply_block(plain{}, a, b, c, add);
            return;
        }
        f(CblasRowMajor, la.along_rows ? CblasNoTrans : CblasTrans,
          lb.along_rows ? CblasNoTrans : CblasTrans, static_cast<int>(c.rows()),
          static_cast<int>(c.columns()), static_cast<int>(a.columns()), C(1), a.data(),
          static_cast<int>(la.apart), b.data(), static_cast<int>(lb.apart), add ? C(1) : C(0),
          c.data(), static_cast<int>(lc.apart));
    }
};

template <class Base>
blas(Base) -> blas<Base>;

}  // namespace prefer::backend
