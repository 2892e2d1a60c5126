// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// What every backend must give for `token_kl` and `token_kl_backward`. Each source beside this
/// file runs `check_kl_backend` on one backend. Expected values are the definitions, in long double
/// and term by term; tests/golden has them in 400 digits.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <prefer/logprob/token_kl.hpp>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace prefer::test {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double inf = std::numeric_limits<double>::infinity();

template <class T>
T stored(double x) {
    return static_cast<T>(static_cast<compute_t<T>>(x));
}

template <class T>
double widened(T x) {
    return static_cast<double>(static_cast<compute_t<T>>(x));
}

template <class T>
bool equal_bits(T const& a, T const& b) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Calls `with` on each divergence, with its name.
template <class With>
void for_each_divergence(With const& with) {
    with("reverse_kl", token_divergence::reverse_kl{});
    with("forward_kl", token_divergence::forward_kl{});
    with("jensen_shannon", token_divergence::jensen_shannon{});
    with("alpha 0", token_divergence::alpha{.order = 0});
    with("alpha 0.3", token_divergence::alpha{.order = 0.3});
    with("alpha 0.5", token_divergence::alpha{});
    with("alpha 1", token_divergence::alpha{.order = 1});
}

using wide = long double;

/// f of D = Σ q·f(p/q), times q, and its derivatives by p and by q: the definitions.
struct definition {
    wide value, d_p, d_q;
};

inline definition reverse_definition(wide p, wide q) {
    wide const t = std::log(p / q);
    return {p * t, t + 1, -p / q};
}
inline definition define(token_divergence::reverse_kl, wide p, wide q) {
    return reverse_definition(p, q);
}
inline definition define(token_divergence::forward_kl, wide p, wide q) {
    definition const d = reverse_definition(q, p);
    return {d.value, d.d_q, d.d_p};
}
inline definition define(token_divergence::jensen_shannon, wide p, wide q) {
    wide const m = (p + q) / 2;
    return {(p * std::log(p / m) + q * std::log(q / m)) / 2, std::log(p / m) / 2,
            std::log(q / m) / 2};
}
inline definition define(token_divergence::alpha d, wide p, wide q) {
    wide const a = static_cast<wide>(d.order);
    if (d.order <= 0) return define(token_divergence::forward_kl{}, p, q);
    if (d.order >= 1) return define(token_divergence::reverse_kl{}, p, q);
    wide const mixed = std::pow(p, a) * std::pow(q, 1 - a);
    wide const unit = a * (1 - a);
    return {(a * p + (1 - a) * q - mixed) / unit, (1 - mixed / p) / (1 - a), (1 - mixed / q) / a};
}

/// A softmax, without a maximum taken out: for moderate logits.
template <class T>
std::vector<wide> softmax_of(std::vector<T> const& row) {
    std::vector<wide> p;
    wide total = 0;
    for (T const x : row) {
        p.push_back(std::exp(static_cast<wide>(widened(x))));
        total += p.back();
    }
    for (wide& x : p) x /= total;
    return p;
}

struct expected_row {
    double value = 0;
    std::vector<double> d_policy, d_reference;
};

template <class T, class U, class Divergence>
expected_row expect(std::vector<T> const& x, std::vector<U> const& y, Divergence const& d) {
    auto const p = softmax_of(x);
    auto const q = softmax_of(y);
    wide value = 0;
    wide p_mean = 0;
    wide q_mean = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
        definition const at = define(d, p[j], q[j]);
        value += at.value;
        p_mean += p[j] * at.d_p;
        q_mean += q[j] * at.d_q;
    }
    expected_row row;
    row.value = static_cast<double>(value);
    for (std::size_t j = 0; j < p.size(); ++j) {
        definition const at = define(d, p[j], q[j]);
        row.d_policy.push_back(static_cast<double>(p[j] * (at.d_p - p_mean)));
        row.d_reference.push_back(static_cast<double>(q[j] * (at.d_q - q_mean)));
    }
    return row;
}

/// The divergence of one pair of rows, in the type it is computed in.
template <class Backend, class T, class U, class Divergence>
auto kl_of(Backend const& on, std::vector<T> const& x, std::vector<U> const& y,
           Divergence const& d) {
    using C = prefer::detail::joint_compute_t<T, U>;
    std::array const labels{0};
    std::array<C, 1> out{-7};
    token_counts const counts = token_kl(on, matrix_view(x.data(), 1, x.size()),
                                         matrix_view(y.data(), 1, y.size()), labels, out, d);
    CHECK(counts.scored == 1);
    CHECK(counts.ignored == 0);
    return out[0];
}

template <class D>
struct gradients {
    std::vector<D> policy, reference;
};

/// Its gradients for the upstream gradient g.
template <class D, class Backend, class T, class U, class Divergence>
gradients<D> kl_gradients_of(Backend const& on, std::vector<T> const& x, std::vector<U> const& y,
                             double g, Divergence const& d) {
    std::size_t const n = x.size();
    std::array const labels{0};
    std::array const upstream{g};
    gradients<D> out{std::vector<D>(n, stored<D>(nan)), std::vector<D>(n, stored<D>(nan))};
    token_kl_backward(on, matrix_view(x.data(), 1, n), matrix_view(y.data(), 1, n), labels,
                      upstream,
                      token_kl_gradients(matrix_view(out.policy.data(), 1, n))
                          .with_reference(matrix_view(out.reference.data(), 1, n)),
                      d);
    // The policy's alone has the same bits.
    std::vector<D> alone(n, stored<D>(nan));
    token_kl_backward(on, matrix_view(x.data(), 1, n), matrix_view(y.data(), 1, n), labels,
                      upstream, matrix_view(alone.data(), 1, n), d);
    std::size_t different = 0;
    for (std::size_t j = 0; j < n; ++j) {
        bool const both_nan = std::isnan(widened(alone[j])) && std::isnan(widened(out.policy[j]));
        different += both_nan || equal_bits(alone[j], out.policy[j]) ? 0U : 1U;
    }
    CHECK(different == 0);
    return out;
}

/// Logits with enough structure that a wrong row or column shows.
template <class T>
std::vector<T> mixed_logits(std::size_t count, std::uint32_t state, double spread = 8) {
    std::vector<T> x(count);
    for (T& value : x) {
        state = state * 1664525U + 1013904223U;
        value = stored<T>((static_cast<double>(state >> 24U) / 128.0 - 1) * spread);
    }
    return x;
}

/// Sizes on both sides of every vector and block edge; 2880 is of known failure C2.
inline std::vector<std::size_t> kl_row_sizes() {
    std::vector<std::size_t> sizes;
    for (std::size_t n = 1; n <= 70; ++n) sizes.push_back(n);
    for (int const edge : {127, 128, 129, 511, 512, 513, 527, 528, 529, 1023, 1024, 1025, 2880}) {
        sizes.push_back(static_cast<std::size_t>(edge));
    }
    return sizes;
}

template <class T, class U, class Backend>
void check_kl_sizes(Backend const& on) {
    // One row of float and one of double: the float row is normalised in float.
    using C = std::conditional_t<std::is_same_v<compute_t<T>, compute_t<U>>, compute_t<T>, float>;
    for (std::size_t const n : kl_row_sizes()) {
        auto const x = mixed_logits<T>(n, 12345);
        auto const y = mixed_logits<U>(n, 999);
        for_each_divergence([&](char const* name, auto const& d) {
            CAPTURE(n, name);
            expected_row const expected = expect(x, y, d);
            CHECK_CLOSE(static_cast<C>(kl_of(on, x, y, d)), expected.value, family::log_prob);
            if (n > 70 && n != 513) return;
            auto const got = kl_gradients_of<C>(on, x, y, 1.0, d);
            CHECK_CLOSE(got.policy, expected.d_policy, family::log_prob);
            CHECK_CLOSE(got.reference, expected.d_reference, family::log_prob);
        });
    }
}

/// Equal rows, whatever they hold, are 0 apart: the number itself.
template <class T, class Backend>
void check_kl_of_equal_rows(Backend const& on) {
    for (std::size_t const n : {1U, 2U, 40U, 700U}) {
        auto const x = mixed_logits<T>(n, 77);
        std::vector<T> offset;
        for (T const v : x) offset.push_back(stored<T>(widened(v) + 8));  // exact
        bool exact = true;
        for (std::size_t j = 0; j < n; ++j) {
            exact = exact && widened(offset[j]) <= widened(x[j]) + 8 &&
                    widened(offset[j]) >= widened(x[j]) + 8;
        }
        auto excluded = x;
        if (n > 1) excluded[n / 2] = stored<T>(-inf);
        for_each_divergence([&](char const* name, auto const& d) {
            CAPTURE(n, name);
            CHECK_SAME_BITS(kl_of(on, x, x, d), compute_t<T>(0));
            if (exact) {  // but for the square of what rounding does to a normaliser
                auto const kl = kl_of(on, x, offset, d);
                CHECK(kl >= 0);
                CHECK(kl < compute_t<T>(1e-10));
            }
            CHECK_SAME_BITS(kl_of(on, excluded, excluded, d), compute_t<T>(0));
            auto const got = kl_gradients_of<T>(on, excluded, excluded, 3.0, d);
            for (std::size_t j = 0; j < n; ++j) {
                REQUIRE(widened(got.policy[j]) == 0.0);
                REQUIRE(widened(got.reference[j]) == 0.0);
            }
        });
    }
}

/// Nearly equal rows, of which half of the logits are moved by h: log cosh(h/2) for all of these,
/// but a quarter of it for Jensen-Shannon, up to terms in h⁴. The normalisers' rounding enters
/// squared only, so that float sees a divergence of 1e-9.
template <class T, class Backend>
void check_kl_of_moved_rows(Backend const& on, double first, double least, family how) {
    for (double h = first; h >= least; h *= 0.5) {
        std::vector<T> x(1000, T(0.5));
        std::vector<T> y(1000, T(0.5));
        for (std::size_t j = 0; j < 1000; j += 2) y[j] += static_cast<T>(h);
        for_each_divergence([&](char const* name, auto const& d) {
            CAPTURE(h, name);
            bool const is_js =
                std::is_same_v<std::remove_cvref_t<decltype(d)>, token_divergence::jensen_shannon>;
            T const kl = kl_of(on, x, y, d);
            CHECK_CLOSE(kl * static_cast<T>((is_js ? 4.0 : 1.0) / (h * h)), 0.125, how);
        });
    }
}

template <class Backend>
void check_kl_of_close_rows(Backend const& on) {
    check_kl_of_moved_rows<float>(on, 0x1p-9, 0x1p-13, family::finite_difference);
    check_kl_of_moved_rows<double>(on, 0x1p-20, 0x1p-23, family::log_prob);
    for (std::uint32_t seed = 1; seed <= 50; ++seed) {
        auto const x = mixed_logits<float>(257, seed);
        auto y = x;
        for (float& v : y) v = std::nextafter(v, seed % 2 == 0 ? 100.0F : 0.0F);
        for_each_divergence([&](char const* name, auto const& d) {
            CAPTURE(seed, name);
            float const kl = kl_of(on, x, y, d);
            CHECK(kl >= 0);
            CHECK(kl < 1e-12F);
        });
    }
}

/// Common offsets, of either row, cost nothing.
template <class Backend>
void check_kl_offsets(Backend const& on) {
    std::vector<float> const x{1, 2, 4, 0};
    std::vector<float> const y{0, 3, 1, 1};
    for_each_divergence([&](char const* name, auto const& d) {
        CAPTURE(name);
        double const expected = expect(x, y, d).value;
        for (float const by : {-1e4F, 1e4F, 0x1p20F}) {
            std::vector<float> moved = y;
            for (float& v : moved) v += by;
            CHECK_CLOSE(kl_of(on, x, moved, d), expected, family::log_prob);
            CHECK_CLOSE(kl_of(on, moved, x, d), expect(y, x, d).value, family::log_prob);
        }
    });
    float const big = std::numeric_limits<float>::max();
    std::vector<float> const pole{big, -big};
    std::vector<float> const flat{0, 0};
    CHECK_CLOSE(kl_of(on, pole, flat, token_divergence::reverse_kl{}), 0.69314718055994531,
                family::log_prob);
    CHECK_SAME(kl_of(on, flat, pole, token_divergence::reverse_kl{}), inf);
}

/// NaN, infinities and excluded tokens, at every place of a row.
template <class T, class Backend>
void check_kl_special_rows(Backend const& on) {
    using token_divergence::forward_kl;
    using token_divergence::jensen_shannon;
    using token_divergence::reverse_kl;
    for (std::size_t const n : {1U, 3U, 40U, 600U}) {
        auto const flat = std::vector<T>(n, stored<T>(0.5));
        auto const nothing = std::vector<T>(n, stored<T>(-inf));
        for (std::size_t const place : {std::size_t{0}, n / 2, n - 1}) {
            CAPTURE(n, place);
            for (double const bad : {nan, inf}) {
                auto row = flat;
                row[place] = stored<T>(bad);
                for_each_divergence([&](char const* name, auto const& d) {
                    CAPTURE(name, bad);
                    for (int const both : {0, 1, 2}) {
                        auto const& x = both == 1 ? flat : row;
                        auto const& y = both == 0 ? flat : row;
                        CHECK_SAME(kl_of(on, x, y, d), nan);
                        auto const got = kl_gradients_of<T>(on, x, y, 1.0, d);
                        auto const none = kl_gradients_of<T>(on, x, y, 0.0, d);
                        std::size_t right = 0;
                        for (std::size_t j = 0; j < n; ++j) {
                            right += std::isnan(widened(got.policy[j])) ? 1U : 0U;
                            right += std::isnan(widened(got.reference[j])) ? 1U : 0U;
                            right += equal_bits(none.policy[j], stored<T>(0.0)) ? 1U : 0U;
                            right += equal_bits(none.reference[j], stored<T>(0.0)) ? 1U : 0U;
                        }
                        CHECK(right == 4 * n);
                    }
                });
            }
            if (n == 1) continue;
            // One row excludes a token: log(n/(n - 1)) one way, +inf the other.
            auto row = flat;
            row[place] = stored<T>(-inf);
            double const ratio = static_cast<double>(n) / static_cast<double>(n - 1);
            CHECK_CLOSE(kl_of(on, row, flat, reverse_kl{}), std::log(ratio), family::log_prob);
            CHECK_SAME(kl_of(on, flat, row, reverse_kl{}), inf);
            CHECK_CLOSE(kl_of(on, flat, row, forward_kl{}), std::log(ratio), family::log_prob);
            CHECK_SAME(kl_of(on, row, flat, forward_kl{}), inf);
            // Hellinger: 4·(1 - √((n - 1)/n))
            CHECK_CLOSE(kl_of(on, row, flat, token_divergence::alpha{}),
                        4 * (1 - std::sqrt(1 / ratio)), family::log_prob);
            double const share = 1 / static_cast<double>(n);
            // m is 1/(2n) at the place, and (1/n + 1/(n - 1))/2 elsewhere
            double const js = 0.5 * std::log(2 / (1 + 1 / ratio)) + 0.5 * share * std::log(2.0) +
                              0.5 * (1 - share) * std::log(2 / (1 + ratio));
            CHECK_CLOSE(kl_of(on, row, flat, jensen_shannon{}), js, family::log_prob);
            // The side of an infinite divergence that is weighted only by probabilities is finite.
            auto const d = kl_gradients_of<compute_t<T>>(on, flat, row, 1.0, reverse_kl{});
            CHECK(std::isnan(d.policy[place]));
            std::vector<double> expected(n, ratio * share - share);
            expected[place] = -share;
            CHECK_CLOSE(d.reference, expected, family::log_prob);
        }
        for_each_divergence([&](char const* name, auto const& d) {
            CAPTURE(n, name);
            CHECK_SAME(kl_of(on, nothing, flat, d), nan);
            CHECK_SAME(kl_of(on, flat, nothing, d), nan);
            CHECK_SAME(kl_of(on, nothing, nothing, d), nan);
        });
    }
    // Nothing in common: the largest value there is.
    for (std::size_t const n : {2U, 33U, 1200U}) {
        std::vector<T> x(n, stored<T>(-inf));
        std::vector<T> y(n, stored<T>(-inf));
        for (std::size_t j = 0; j < n; ++j) {
            (j < n / 2 ? x : y)[j] = stored<T>(0.1 * static_cast<double>(j % 7));
        }
        auto const js = kl_of(on, x, y, jensen_shannon{});
        CHECK_CLOSE(js, 0.69314718055994531, family::log_prob);
        CHECK(js <= stored<compute_t<T>>(0.69314718055994531));
        CHECK_CLOSE(kl_of(on, x, y, token_divergence::alpha{}), 4.0, family::log_prob);
        CHECK_SAME(kl_of(on, x, y, reverse_kl{}), inf);
        CHECK_SAME(kl_of(on, x, y, forward_kl{}), inf);
    }
    // A token so rare that its probability underflows is still one that occurs.
    std::vector<T> const rare{stored<T>(0.0), stored<T>(-2000.0)};
    std::vector<T> const excluded{stored<T>(0.0), stored<T>(-inf)};
    CHECK_SAME(kl_of(on, rare, excluded, reverse_kl{}), inf);
    CHECK_SAME(kl_of(on, excluded, rare, reverse_kl{}), 0.0);
    CHECK_SAME(kl_of(on, rare, excluded, jensen_shannon{}), 0.0);
}

/// Ignored rows are 0 and are not read; outputs are written whole; padding columns do not exist.
template <class T, class Backend>
void check_kl_ignored_rows(Backend const& on) {
    using C = compute_t<T>;
    std::vector<T> x{stored<T>(nan), stored<T>(inf), stored<T>(nan), stored<T>(0.0), stored<T>(2.0),
                     stored<T>(nan), stored<T>(nan), stored<T>(nan), stored<T>(nan)};
    std::vector<T> y = x;
    y[4] = stored<T>(1.0);
    for (std::int64_t const ignore : {std::int64_t{-100}, std::int64_t{7}, std::int64_t{0}}) {
        std::vector<std::int64_t> const labels{ignore, 1, ignore};
        std::vector<float> out(3, std::numeric_limits<float>::quiet_NaN());
        token_options const options{.ignore_index = ignore, .vocabulary = 2};
        token_counts const counts = token_kl(on, matrix_view(x.data(), 3, 3),
                                             matrix_view(y.data(), 3, 3), labels, out, {}, options);
        CHECK(counts.scored == 1);
        CHECK(counts.ignored == 2);
        CHECK_SAME_BITS(out[0], 0.0F);
        // p = σ(2), q = σ(1)
        CHECK_CLOSE(out[1], 0.06713075445313266, family::log_prob);
        CHECK_SAME_BITS(out[2], 0.0F);
        std::vector<C> dp(9, C(nan));
        std::vector<C> dq(9, C(nan));
        std::vector<double> const g{1.0, 1.0, nan};
        token_kl_backward(on, matrix_view(x.data(), 3, 3), matrix_view(y.data(), 3, 3), labels, g,
                          token_kl_gradients(matrix_view(dp.data(), 3, 3))
                              .with_reference(matrix_view(dq.data(), 3, 3)),
                          {}, options);
        for (std::size_t const i : {0U, 1U, 2U, 5U, 6U, 7U, 8U}) {
            CHECK(equal_bits(dp[i], C(0)));
            CHECK(equal_bits(dq[i], C(0)));
        }
        // q - p
        CHECK_CLOSE(dq[4], -0.14973849934787742, family::gradient);
        CHECK_CLOSE(dq[3], 0.14973849934787742, family::gradient);
        // p·(1 - p)·(2 - 1)
        CHECK_CLOSE(dp[4], 0.10499358540350662, family::gradient);
        CHECK_CLOSE(dp[3], -0.10499358540350662, family::gradient);
    }
}

/// Known failures A2, A8, G8: every layout gives the results of the dense matrices, bit for bit,
/// in place too, and writes nothing between its elements.
template <class T, class Backend>
void check_kl_layouts(Backend const& on) {
    struct strides {
        char const* name;
        std::ptrdiff_t origin, row, column;
    };
    std::size_t const columns = 37;
    std::ptrdiff_t const v = 37;
    std::ptrdiff_t const n = 3;
    std::array<strides, 7> const layouts{{{"row-major", 0, v, 1},
                                          {"one element on", 1, v, 1},
                                          {"padded rows", 5, v + 6, 1},
                                          {"every second column", 0, 2 * v, 2},
                                          {"column-major", 0, 1, n},
                                          {"odd strides", 3, 3, 11},
                                          {"backwards", n * v - 1, -v, -1}}};
    auto const px = mixed_logits<T>(3 * columns, 5);
    auto const qx = mixed_logits<T>(3 * columns, 6);
    std::array const labels{36, 0, 17};
    std::array const g{1.5, -2.0, 0.25};
    token_divergence::jensen_shannon const d;
    std::array<compute_t<T>, 3> expected{};
    std::vector<T> dp(px.size());
    std::vector<T> dq(qx.size());
    matrix_view const dense_p(px.data(), 3, columns);
    matrix_view const dense_q(qx.data(), 3, columns);
    token_kl(on, dense_p, dense_q, labels, expected, d);
    token_kl_backward(on, dense_p, dense_q, labels, g,
                      token_kl_gradients(matrix_view(dp.data(), 3, columns))
                          .with_reference(matrix_view(dq.data(), 3, columns)),
                      d);
    for (strides const& s : layouts) {
        INFO(s.name);
        T const untouched = stored<T>(-99.0);
        std::vector<T> p_memory(600, untouched);
        std::vector<T> q_memory(600, untouched);
        std::vector<T> d_memory(600, untouched);
        matrix_view const p(p_memory.data() + s.origin, 3, columns, s.row, s.column);
        matrix_view const q(q_memory.data() + s.origin, 3, columns, s.row, s.column);
        matrix_view const separate(d_memory.data() + s.origin, 3, columns, s.row, s.column);
        for (std::size_t i = 0; i < 3; ++i) {
            for (std::size_t j = 0; j < columns; ++j) {
                p(i, j) = px[i * columns + j];
                q(i, j) = qx[i * columns + j];
            }
        }
        std::array<compute_t<T>, 3> out{};
        token_kl(on, p, q, labels, out, d);
        CHECK_SAME_BITS(out, expected);
        token_kl_backward(on, p, q, labels, g, separate, d);
        std::size_t touched = 0;
        for (T const value : d_memory) touched += equal_bits(value, untouched) ? 0U : 1U;
        CHECK(touched == px.size());
        token_kl_backward(on, p, q, labels, g, token_kl_gradients(p).with_reference(q), d);
        std::size_t different = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            for (std::size_t j = 0; j < columns; ++j) {
                std::size_t const k = i * columns + j;
                different += equal_bits(separate(i, j), dp[k]) ? 0U : 1U;
                different += equal_bits(p(i, j), dp[k]) ? 0U : 1U;
                different += equal_bits(q(i, j), dq[k]) ? 0U : 1U;
            }
        }
        CHECK(different == 0);
        touched = 0;
        for (T const value : q_memory) touched += equal_bits(value, untouched) ? 0U : 1U;
        CHECK(touched == qx.size());
    }
}

/// A row's result is that of the row alone, and the inputs stay as they were.
template <class T, class Backend>
void check_kl_rows_are_independent(Backend const& on) {
    std::size_t const rows = 60;
    std::size_t const columns = 1111;
    auto const x = mixed_logits<T>(rows * columns, 3);
    auto const y = mixed_logits<T>(rows * columns, 4);
    auto const x_before = x;
    auto const y_before = y;
    std::vector<int> labels(rows, 0);
    labels[7] = -100;
    std::vector<compute_t<T>> out(rows);
    token_counts const counts = token_kl(on, matrix_view(x.data(), rows, columns),
                                         matrix_view(y.data(), rows, columns), labels, out);
    CHECK(counts.scored == rows - 1);
    for (std::size_t i = 0; i < rows; ++i) {
        std::vector<compute_t<T>> alone(1);
        token_kl(on, matrix_view(x.data() + i * columns, 1, columns),
                 matrix_view(y.data() + i * columns, 1, columns), std::array{labels[i]}, alone);
        REQUIRE(equal_bits(alone[0], out[i]));
    }
    CHECK(std::memcmp(x.data(), x_before.data(), x.size() * sizeof(T)) == 0);
    CHECK(std::memcmp(y.data(), y_before.data(), y.size() * sizeof(T)) == 0);
}

/// L14 and shapes: an error before anything is written.
template <class Backend>
void check_kl_errors(Backend const& on) {
    std::vector<float> const x(6, 0.0F);
    std::vector<float> out(2, 5.0F);
    std::vector<float> d(6, 5.0F);
    std::vector<float> longer(3, 5.0F);
    matrix_view const logits(x.data(), 2, 3);
    matrix_view const d_logits(d.data(), 2, 3);
    std::vector<int> const labels{0, 1};
    std::vector<int> const three{0, 1, 2};
    std::vector<float> const g(2, 1.0F);
    auto const forward = [&](auto const& p, auto const& q, auto const& y, auto& o,
                             token_options options = {}) {
        token_kl(on, p, q, y, o, token_divergence::reverse_kl{}, options);
    };
    auto const backward = [&](auto const& p, auto const& q, auto const& y, auto const& u,
                              auto const& o, token_options options = {}) {
        token_kl_backward(on, p, q, y, u, o, token_divergence::reverse_kl{}, options);
    };
    matrix_view const taller(x.data(), 3, 2);
    matrix_view const narrower(x.data(), 2, 2);
    CHECK_THROWS_MESSAGE(forward(logits, taller, labels, out), shape_error,
                         "prefer::token_kl: reference_logits' rows has size 3, but "
                         "policy_logits' rows has size 2");
    CHECK_THROWS_MESSAGE(forward(logits, narrower, labels, out), shape_error,
                         "reference_logits' columns has size 2");
    CHECK_THROWS_MESSAGE(forward(logits, logits, three, out), shape_error, "labels has size 3");
    CHECK_THROWS_MESSAGE(forward(logits, logits, labels, longer), shape_error,
                         "token_kl has size 3");
    CHECK_THROWS_MESSAGE(forward(biased(logits, g), logits, labels, out), shape_error,
                         "bias has size 2");
    CHECK_THROWS_MESSAGE(forward(logits, biased(logits, g), labels, out), shape_error,
                         "bias has size 2");
    CHECK_THROWS_MESSAGE(backward(logits, taller, labels, g, d_logits), shape_error,
                         "prefer::token_kl_backward: reference_logits' rows");
    CHECK_THROWS_MESSAGE(backward(logits, logits, three, g, d_logits), shape_error,
                         "labels has size 3");
    CHECK_THROWS_MESSAGE(backward(logits, logits, labels, longer, d_logits), shape_error,
                         "d_token_kl has size 3");
    CHECK_THROWS_MESSAGE(backward(logits, logits, labels, g, matrix_view(d.data(), 1, 3)),
                         shape_error, "d_policy_logits' rows has size 1");
    CHECK_THROWS_MESSAGE(backward(logits, logits, labels, g, matrix_view(d.data(), 2, 2)),
                         shape_error, "d_policy_logits' columns has size 2");
    auto const both = token_kl_gradients(d_logits);
    CHECK_THROWS_MESSAGE(
        backward(logits, logits, labels, g, both.with_reference(matrix_view(d.data(), 1, 3))),
        shape_error, "d_reference_logits' rows has size 1");
    CHECK_THROWS_MESSAGE(
        backward(logits, logits, labels, g, both.with_reference(matrix_view(d.data(), 2, 2))),
        shape_error, "d_reference_logits' columns has size 2");
    for (int const label : {3, -1, 1000}) {
        std::vector<int> const wrong{0, label};
        CHECK_THROWS_MESSAGE(forward(logits, logits, wrong, out), value_error,
                             "prefer::token_kl: labels[1] is " + std::to_string(label));
        CHECK_THROWS_MESSAGE(backward(logits, logits, wrong, g, d_logits), value_error,
                             "prefer::token_kl_backward: labels[1] is " + std::to_string(label));
    }
    CHECK_THROWS_MESSAGE(forward(logits, logits, labels, out, {.temperature = 0}), value_error,
                         "prefer::token_kl: temperature is 0");
    CHECK_THROWS_MESSAGE(backward(logits, logits, labels, g, d_logits, {.temperature = nan}),
                         value_error, "prefer::token_kl_backward: temperature is nan");
    CHECK_THROWS_MESSAGE(forward(logits, logits, labels, out, {.vocabulary = 4}), shape_error,
                         "vocabulary is 4, but must be at most the 3 columns");
    for (double const order : {-0.1, 1.1, nan, inf}) {
        token_divergence::alpha const wrong{.order = order};
        CHECK_THROWS_MESSAGE(token_kl(on, logits, logits, labels, out, wrong), value_error,
                             "prefer::token_divergence::alpha: order is ");
        CHECK_THROWS_MESSAGE(token_kl_backward(on, logits, logits, labels, g, d_logits, wrong),
                             value_error, "order is ");
    }
    CHECK_SAME(out, std::vector<float>(2, 5.0F));
    CHECK_SAME(longer, std::vector<float>(3, 5.0F));
    CHECK_SAME(d, std::vector<float>(6, 5.0F));
}

/// No rows, and rows without columns.
template <class Backend>
void check_kl_empty(Backend const& on) {
    std::vector<float> none;
    std::vector<int> no_labels;
    matrix_view const no_rows(none.data(), 0, 5);
    CHECK(token_kl(on, no_rows, no_rows, no_labels, none).scored == 0);
    CHECK_NOTHROW(token_kl_backward(on, no_rows, no_rows, no_labels, none, no_rows));
    std::vector<int> const ignored{-100};
    std::vector<float> out{5};
    matrix_view const no_columns(none.data(), 1, 0);
    CHECK(token_kl(on, no_columns, no_columns, ignored, out).ignored == 1);
    CHECK_SAME(out[0], 0.0F);
}

template <class T, class Backend>
void check_kl_elements(Backend const& on) {
    check_kl_sizes<T, T>(on);
    check_kl_of_equal_rows<T>(on);
    check_kl_special_rows<T>(on);
    check_kl_ignored_rows<T>(on);
    check_kl_layouts<T>(on);
    check_kl_rows_are_independent<T>(on);
}

/// The whole battery.
template <class Backend>
void check_kl_backend(Backend const& on) {
    SECTION("double") {
        check_kl_elements<double>(on);
    }
    SECTION("float") {
        check_kl_elements<float>(on);
    }
    SECTION("bfloat16") {
        check_kl_elements<bfloat16>(on);
    }
    SECTION("half") {
        check_kl_elements<half>(on);
    }
    SECTION("two element types") {
        check_kl_sizes<bfloat16, float>(on);
        check_kl_sizes<float, double>(on);
    }
    SECTION("close rows") {
        check_kl_of_close_rows(on);
    }
    SECTION("offsets") {
        check_kl_offsets(on);
    }
    SECTION("empty") {
        check_kl_empty(on);
    }
    SECTION("errors") {
        check_kl_errors(on);
    }
}

}  // namespace prefer::test
