// SPDX-License-Identifier: MIT
#include <prefer/logprob/vocabulary_parallel.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>
#include <support/finite_difference.hpp>
#include <support/in_process_communicator.hpp>

namespace {

using prefer::bfloat16;
using prefer::compute_t;
using prefer::half;
using prefer::matrix_view;
using prefer::row_normalizer;
using prefer::shape_error;
using prefer::token_options;
using prefer::value_error;
using prefer::vector_view;
using prefer::vocabulary_parallel_token_log_probs;
using prefer::vocabulary_parallel_token_log_probs_backward;
using prefer::test::family;
using prefer::test::on_ranks;
using prefer::test::try_on_ranks;

double const inf = std::numeric_limits<double>::infinity();
double const nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
T stored(double x) {
    return static_cast<T>(static_cast<compute_t<T>>(x));
}

template <class T>
double widened(T x) {
    return static_cast<double>(static_cast<compute_t<T>>(x));
}

/// Columns `starts[r]` to `starts[r + 1]` are on rank r.
using split = std::vector<std::size_t>;

/// What the tests ask: logits `[N, V]`, maybe a bias `[V]`, and labels.
template <class T>
struct problem {
    std::size_t columns = 0;
    std::vector<T> logits;
    std::vector<std::int64_t> labels;
    std::vector<T> bias{};
    token_options options{};

    std::size_t rows() const { return labels.size(); }
    matrix_view<T const> whole() const { return {logits.data(), rows(), columns}; }
    matrix_view<T const> part(split const& starts, std::size_t rank) const {
        return {logits.data() + starts[rank], rows(), starts[rank + 1] - starts[rank],
                static_cast<std::ptrdiff_t>(columns), 1};
    }
    vector_view<T const> part_of_bias(split const& starts, std::size_t rank) const {
        return {bias.data() + starts[rank], starts[rank + 1] - starts[rank]};
    }
};

/// What one rank gets.
template <class T>
struct answer {
    using C = compute_t<T>;
    std::vector<C> log_prob, entropy, hits, log_sum_squares, mean_logit;
    std::vector<row_normalizer<C>> kept;

    explicit answer(std::size_t n)
        : log_prob(n, C(-7)), entropy(n, C(-7)), hits(n, C(-7)), log_sum_squares(n, C(-7)),
          mean_logit(n, C(-7)), kept(n) {}

    auto outputs() {
        return prefer::token_outputs(log_prob)
            .with_entropy(entropy)
            .with_hits(hits)
            .with_log_sum_squares(log_sum_squares)
            .with_mean_logit(mean_logit);
    }
};

template <class T>
std::vector<answer<T>> ask(problem<T> const& p, split const& starts) {
    std::vector<answer<T>> answers(starts.size() - 1, answer<T>(p.rows()));
    on_ranks(answers.size(), [&](auto const& on) {
        std::size_t const r = on.rank();
        auto const outputs = answers[r].outputs();
        if (p.bias.empty()) {
            vocabulary_parallel_token_log_probs(on, starts[r], p.part(starts, r), p.labels, outputs,
                                                answers[r].kept, p.options);
        } else {
            auto const x = prefer::biased(p.part(starts, r), p.part_of_bias(starts, r));
            vocabulary_parallel_token_log_probs(on, starts[r], x, p.labels, outputs,
                                                answers[r].kept, p.options);
        }
    });
    return answers;
}

/// The gradient of every rank, put together; elements are what `d` starts with.
template <class T, class D>
std::vector<D> gradient_into(std::vector<D> d, problem<T> const& p, split const& starts,
                             std::vector<double> const& g, bool in_place) {
    auto const answers = ask(p, starts);
    for (std::size_t r = 0; r + 1 < starts.size(); ++r) {
        matrix_view const out(d.data() + starts[r], p.rows(), starts[r + 1] - starts[r],
                              static_cast<std::ptrdiff_t>(p.columns), 1);
        auto const part = [&] {
            if constexpr (std::is_same_v<T, D>) {
                if (in_place) return matrix_view<T const>(out);
            }
            return p.part(starts, r);
        }();
        if (p.bias.empty()) {
            vocabulary_parallel_token_log_probs_backward(starts[r], part, p.labels, answers[r].kept,
                                                         g, out, p.options);
        } else {
            vocabulary_parallel_token_log_probs_backward(
                starts[r], prefer::biased(part, p.part_of_bias(starts, r)), p.labels,
                answers[r].kept, g, out, p.options);
        }
    }
    return d;
}

template <class T>
auto gradient(problem<T> const& p, split const& starts, std::vector<double> const& g) {
    std::vector<compute_t<T>> const untouched(p.logits.size(), compute_t<T>(nan));
    return gradient_into(untouched, p, starts, g, false);
}

template <class T>
std::vector<T> gradient_in_place(problem<T> const& p, split const& starts,
                                 std::vector<double> const& g) {
    return gradient_into(p.logits, p, starts, g, true);
}

template <class T>
void check_same_bits(answer<T> const& a, answer<T> const& b) {
    CHECK_SAME_BITS(a.log_prob, b.log_prob);
    CHECK_SAME_BITS(a.entropy, b.entropy);
    CHECK_SAME_BITS(a.hits, b.hits);
    CHECK_SAME_BITS(a.log_sum_squares, b.log_sum_squares);
    CHECK_SAME_BITS(a.mean_logit, b.mean_logit);
    for (std::size_t i = 0; i < a.kept.size(); ++i) {
        CHECK_SAME_BITS(a.kept[i].shift, b.kept[i].shift);
        CHECK_SAME_BITS(a.kept[i].sum, b.kept[i].sum);
    }
}

template <class T>
void check_close(answer<T> const& a, answer<T> const& b) {
    CHECK_CLOSE(a.log_prob, b.log_prob, family::log_prob);
    CHECK_CLOSE(a.entropy, b.entropy, family::log_prob);
    CHECK_SAME(a.hits, b.hits);
    CHECK_CLOSE(a.log_sum_squares, b.log_sum_squares, family::log_prob);
    CHECK_CLOSE(a.mean_logit, b.mean_logit, family::log_prob);
}

/// Even and uneven, with empty parts first, last and in between.
std::vector<split> splits(std::size_t v) {
    std::vector<split> all{{0, v},
                           {0, v / 2, v},
                           {0, 1, v},
                           {0, v, v},
                           {0, 0, v},
                           {0, v / 3, v / 3, v},
                           {0, v - 1, v - 1, v, v}};
    for (std::size_t ranks = 3; ranks <= 8; ++ranks) {
        split s;
        for (std::size_t r = 0; r <= ranks; ++r) s.push_back(r * v / ranks);
        all.push_back(s);
    }
    return all;
}

template <class T>
problem<T> mixed(std::size_t rows, std::size_t columns) {
    problem<T> p{.columns = columns,
                 .logits = std::vector<T>(rows * columns),
                 .labels = std::vector<std::int64_t>(rows)};
    std::uint32_t state = 2026;
    auto const next = [&] {
        state = state * 1664525U + 1013904223U;
        return static_cast<double>(state >> 24U) / 16.0 - 8.0;
    };
    for (T& x : p.logits) x = stored<T>(next());
    for (std::size_t i = 0; i < rows; ++i) {
        p.labels[i] = static_cast<std::int64_t>(i * 7 % columns);
    }
    p.options.vocabulary = columns;
    return p;
}

TEMPLATE_TEST_CASE("vocabulary_parallel: closed forms, on 1 to 8 ranks", "", double, float) {
    // Logits log(1), …, log(V): the label k has the probability (k + 1) / (V(V + 1)/2).
    for (std::size_t const v : {1U, 2U, 10U, 33U}) {
        problem<TestType> p{.columns = v, .logits = {}, .labels = {}};
        p.options.vocabulary = v;
        for (std::size_t k = 0; k < v; ++k) {
            p.labels.push_back(static_cast<std::int64_t>(k));
            for (std::size_t j = 0; j < v; ++j) {
                p.logits.push_back(static_cast<TestType>(std::log(static_cast<double>(j + 1))));
            }
        }
        double const total = static_cast<double>(v) * static_cast<double>(v + 1) / 2;
        double squares = 0, factorial = 0, entropy = 0;
        for (std::size_t j = 0; j < v; ++j) {
            double const x = static_cast<double>(j + 1);
            squares += x * x;
            factorial += std::log(x);
            entropy -= x / total * std::log(x / total);
        }
        for (split const& starts : splits(v)) {
            CAPTURE(v, starts);
            auto const answers = ask(p, starts);
            for (auto const& a : answers) check_same_bits(a, answers[0]);
            for (std::size_t k = 0; k < v; ++k) {
                CHECK_CLOSE(answers[0].log_prob[k],
                            std::log(static_cast<double>(k + 1)) - std::log(total),
                            family::log_prob);
                CHECK_CLOSE(answers[0].entropy[k], entropy, family::log_prob);
                CHECK(answers[0].hits[k] == (k + 1 == v ? TestType(1) : TestType(0)));
                CHECK_CLOSE(answers[0].log_sum_squares[k], std::log(squares) - 2 * std::log(total),
                            family::log_prob);
                CHECK_CLOSE(answers[0].mean_logit[k], factorial / static_cast<double>(v),
                            family::log_prob);
            }
            std::vector<double> const g(v, -0.75);
            auto const d = gradient(p, starts, g);
            for (std::size_t k = 0; k < v; ++k) {
                std::vector<double> expected(v);
                for (std::size_t j = 0; j < v; ++j) {
                    expected[j] = 0.75 * static_cast<double>(j + 1) / total;
                }
                expected[k] = -0.75 * (total - static_cast<double>(k + 1)) / total;
                std::vector<TestType> const row(d.begin() + static_cast<std::ptrdiff_t>(k * v),
                                                d.begin() +
                                                    static_cast<std::ptrdiff_t>((k + 1) * v));
                CHECK_CLOSE(row, expected, family::gradient);
            }
        }
    }
}

template <class T>
void check_against_one_row(problem<T> const& p) {
    answer<T> expected(p.rows());
    std::vector<double> g(p.rows());
    for (std::size_t i = 0; i < g.size(); ++i) g[i] = static_cast<double>(i % 5) - 2.0;
    std::vector<compute_t<T>> d_expected(p.logits.size(), compute_t<T>(nan));
    matrix_view const d_view(d_expected.data(), p.rows(), p.columns);
    if (p.bias.empty()) {
        token_log_probs(p.whole(), p.labels, expected.outputs(), p.options);
        token_log_probs_backward(p.whole(), p.labels, g, d_view, p.options);
    } else {
        auto const x = prefer::biased(p.whole(), p.bias);
        token_log_probs(x, p.labels, expected.outputs(), p.options);
        token_log_probs_backward(x, p.labels, g, d_view, p.options);
    }
    for (split const& starts : splits(p.columns)) {
        CAPTURE(starts);
        auto const answers = ask(p, starts);
        for (auto const& a : answers) check_same_bits(a, answers[0]);
        check_close(answers[0], expected);
        auto const d = gradient(p, starts, g);
        CHECK_CLOSE(d, d_expected, family::gradient);
        for (std::size_t i = 0; i < p.rows(); ++i) {
            double sum = 0;
            for (std::size_t j = 0; j < p.columns; ++j) {
                sum += static_cast<double>(d[i * p.columns + j]);
            }
            if (p.options.soft_cap <= 0) {
                CHECK_CLOSE(static_cast<compute_t<T>>(sum), 0.0, family::log_prob);
            }
        }
        auto const narrow = gradient_in_place(p, starts, g);
        for (std::size_t e = 0; e < d.size(); ++e) {
            REQUIRE(widened(narrow[e]) == widened(stored<T>(static_cast<double>(d[e]))));
        }
        if (starts.size() == 2) {  // one rank
            CHECK_SAME_BITS(answers[0].log_prob, expected.log_prob);
            CHECK_SAME_BITS(answers[0].entropy, expected.entropy);
            CHECK_SAME_BITS(answers[0].log_sum_squares, expected.log_sum_squares);
            CHECK_SAME_BITS(answers[0].mean_logit, expected.mean_logit);
        }
    }
}

TEMPLATE_TEST_CASE("vocabulary_parallel: any split gives token_log_probs of the whole row", "",
                   double, float, bfloat16, half) {
    SECTION("plain") {
        check_against_one_row(mixed<TestType>(9, 41));
    }
    SECTION("scaled, capped, at a temperature") {
        auto p = mixed<TestType>(9, 41);
        p.options.temperature = 0.7;
        p.options.logit_scale = 1.5;
        p.options.soft_cap = 5;
        check_against_one_row(p);
    }
    SECTION("with a bias") {
        auto p = mixed<TestType>(9, 41);
        for (std::size_t j = 0; j < 41; ++j) {
            p.bias.push_back(stored<TestType>(static_cast<double>(j % 8) / 2));
        }
        check_against_one_row(p);
    }
    SECTION("with padding, which may fill whole ranks and is not read") {
        auto p = mixed<TestType>(9, 41);
        p.options.vocabulary = 20;
        for (std::size_t i = 0; i < p.rows(); ++i) {
            p.labels[i] %= 20;
            for (std::size_t j = 20; j < 41; ++j) p.logits[i * 41 + j] = stored<TestType>(nan);
        }
        check_against_one_row(p);
    }
}

TEST_CASE("vocabulary_parallel: which rank holds which columns does not matter") {
    auto const p = mixed<float>(5, 12);
    auto const in_order = ask(p, {0, 3, 7, 12});
    std::array<std::size_t, 3> const first{7, 0, 3};
    std::array<std::size_t, 3> const last{12, 3, 7};
    std::vector<std::vector<float>> out(3, std::vector<float>(5));
    on_ranks(3, [&](auto const& on) {
        std::size_t const r = on.rank();
        matrix_view const part(p.logits.data() + first[r], 5, last[r] - first[r], 12, 1);
        std::vector<row_normalizer<float>> kept(5);
        vocabulary_parallel_token_log_probs(on, first[r], part, p.labels, out[r], kept, p.options);
    });
    for (auto const& logp : out) CHECK_CLOSE(logp, in_order[0].log_prob, family::log_prob);
}

TEMPLATE_TEST_CASE("vocabulary_parallel: infinities and NaN", "", double, float, bfloat16, half) {
    using C = compute_t<TestType>;
    auto const row = [](double a, double b, double c, double d, std::int64_t label) {
        problem<TestType> p{.columns = 4,
                            .logits = {stored<TestType>(a), stored<TestType>(b),
                                       stored<TestType>(c), stored<TestType>(d)},
                            .labels = {label}};
        p.options.vocabulary = 4;
        return p;
    };
    for (split const& starts : splits(4)) {
        CAPTURE(starts);
        // Some ranks hold nothing but -inf.
        auto const hidden = row(-inf, -inf, 1, 1, 3);
        auto const unlikely = row(-inf, -inf, 1, 1, 0);
        for (auto const& a : ask(hidden, starts)) {
            CHECK_CLOSE(a.log_prob[0], -0.69314718055994531, family::log_prob);
            CHECK_CLOSE(a.entropy[0], 0.69314718055994531, family::log_prob);
            CHECK_CLOSE(a.log_sum_squares[0], -0.69314718055994531, family::log_prob);
            CHECK_SAME(a.mean_logit[0], C(-inf));
            CHECK_SAME(a.hits[0], C(1));
        }
        for (auto const& a : ask(unlikely, starts)) {
            CHECK_SAME(a.log_prob[0], C(-inf));
            CHECK_SAME(a.hits[0], C(0));
        }
        auto const d_of = [&](problem<TestType> const& p, double g) {
            auto const d = gradient(p, starts, {g});
            return std::vector<double>(d.begin(), d.end());
        };
        CHECK_SAME(d_of(hidden, 3), std::array{0.0, 0.0, -1.5, 1.5});
        CHECK_SAME(d_of(unlikely, 3), std::array{3.0, 0.0, -1.5, -1.5});

        // One bad number anywhere is a NaN everywhere.
        for (auto const& p :
             {row(nan, 0, 0, 0, 3), row(0, 0, 0, nan, 0), row(0, inf, 0, 0, 1),
              row(inf, 0, 0, -inf, 3), row(0, inf, nan, 0, 0), row(-inf, -inf, -inf, -inf, 2)}) {
            for (auto const& a : ask(p, starts)) {
                CHECK_SAME(a.log_prob[0], C(nan));
                CHECK_SAME(a.entropy[0], C(nan));
                CHECK_SAME(a.log_sum_squares[0], C(nan));
                CHECK_SAME(a.mean_logit[0], C(nan));
                CHECK_SAME(a.hits[0], C(0));
                CHECK_FALSE(a.kept[0].proper());
            }
            CHECK_SAME(d_of(p, 1), std::vector<double>(4, nan));
            CHECK_SAME(d_of(p, 0), std::vector<double>(4, 0.0));
        }
    }
}

TEST_CASE("vocabulary_parallel: a common offset costs no digits (L7)") {
    problem<float> p{.columns = 2, .logits = {10002.0F, 9999.0F}, .labels = {0}};
    p.options.vocabulary = 2;
    for (auto const& a : ask(p, {0, 1, 2})) {
        CHECK_CLOSE(a.log_prob[0], -0.048587351573741950, family::log_prob);
    }
    CHECK_DISTINGUISHES_IN(float, -0.048587351573741950, -0.048828125, family::log_prob);
}

TEST_CASE("vocabulary_parallel: ignored rows are 0, whatever they hold") {
    problem<float> p{.columns = 3,
                     .logits = {NAN, INFINITY, NAN, 0, 0, 0, -INFINITY, NAN, NAN},
                     .labels = {-100, 1, -100}};
    p.options.vocabulary = 3;
    std::vector<prefer::token_counts> counts(2);
    on_ranks(2, [&](auto const& on) {
        split const starts{0, 1, 3};
        std::vector<float> out(3);
        std::vector<row_normalizer<float>> kept(3);
        counts[on.rank()] = vocabulary_parallel_token_log_probs(
            on, starts[on.rank()], p.part(starts, on.rank()), p.labels, out, kept, p.options);
    });
    for (auto const& c : counts) {
        CHECK(c.scored == 1);
        CHECK(c.ignored == 2);
    }
    for (auto const& a : ask(p, {0, 1, 3})) {
        CHECK_SAME_BITS(a.log_prob[0], 0.0F);
        CHECK_CLOSE(a.log_prob[1], -1.0986122886681098, family::log_prob);
        CHECK_SAME_BITS(a.log_prob[2], 0.0F);
        CHECK_SAME(a.entropy[0], 0.0F);
        CHECK_SAME(a.mean_logit[2], 0.0F);
    }
    auto const d = gradient(p, {0, 1, 3}, {nan, 3, nan});
    CHECK_CLOSE(d, std::array{0.0, 0.0, 0.0, -1.0, 2.0, -1.0, 0.0, 0.0, 0.0}, family::gradient);
    CHECK_SAME_BITS(d[0], 0.0F);
}

TEST_CASE("vocabulary_parallel: no rows") {
    problem<float> p{
        .columns = 3, .logits = {1, 1, 1}, .labels = {}};  // of a row that is not there
    p.options.vocabulary = 3;
    for (auto const& a : ask(p, {0, 2, 3})) CHECK(a.log_prob.empty());
    CHECK_SAME(gradient(p, {0, 2, 3}, {}), std::vector<float>(3, NAN));
}

/// Tasks from the last to the first: the order must not matter.
struct backwards {
    using backend_concept = prefer::backend_tag;
    std::size_t workers() const { return 1; }
    template <class Work>
    void for_each_task(std::size_t tasks, Work const& work) const {
        for (std::size_t t = tasks; t-- > 0;) work(t, std::size_t{0});
    }
};

TEST_CASE("vocabulary_parallel: a backend's tasks change nothing") {
    auto const p = mixed<float>(70, 1500);
    split const starts{0, 700, 1500};
    auto const expected = ask(p, starts);
    std::vector<double> const g(70, 1.0);
    auto const d_expected = gradient(p, starts, g);
    std::vector<float> d(p.logits.size(), NAN);
    std::vector<std::vector<float>> out(2, std::vector<float>(70));
    on_ranks(2, [&](auto const& on) {
        std::size_t const r = on.rank();
        std::vector<row_normalizer<float>> kept(70);
        vocabulary_parallel_token_log_probs(backwards{}, on, starts[r], p.part(starts, r), p.labels,
                                            out[r], kept, p.options);
        matrix_view const part(d.data() + starts[r], 70, starts[r + 1] - starts[r], 1500, 1);
        vocabulary_parallel_token_log_probs_backward(backwards{}, starts[r], p.part(starts, r),
                                                     p.labels, kept, g, part, p.options);
    });
    for (auto const& logp : out) CHECK_SAME_BITS(logp, expected[0].log_prob);
    CHECK_SAME_BITS(d, d_expected);
}

TEST_CASE("vocabulary_parallel: the backward is the derivative of the forward") {
    auto p = mixed<double>(2, 7);
    p.options.temperature = 1.3;
    p.options.soft_cap = 6;
    split const starts{0, 2, 3, 7};
    std::vector<double> const g{0.8, -1.7};
    auto const d = gradient(p, starts, g);
    for (std::size_t e = 0; e < p.logits.size(); ++e) {
        CAPTURE(e);
        auto const f = [&](double x) {
            auto moved = p;
            moved.logits[e] = x;
            auto const a = ask(moved, starts);
            return g[0] * a[1].log_prob[0] + g[1] * a[1].log_prob[1];
        };
        CHECK_CLOSE(d[e], prefer::test::derivative(f, p.logits[e], 0.5).value,
                    family::finite_difference);
    }
}

// --- errors --------------------------------------------------------------------------------------

/// Runs the forward on two ranks with what `change` makes of the arguments of one rank.
struct arguments {
    std::size_t first_column;
    matrix_view<float const> logits;
    std::vector<std::int64_t> labels;
    std::size_t outputs = 2;
    std::size_t kept = 2;
    bool entropy = false;
    std::vector<float> bias{};
    token_options options{.vocabulary = 5};
};

struct outcome {
    std::vector<std::string> words;
    std::vector<std::size_t> calls;
    std::size_t written = 0;
};

template <class Change>
outcome forward_with(Change change) {
    std::vector<float> const logits(10, 0.5F);
    outcome o{std::vector<std::string>(2), std::vector<std::size_t>(2)};
    std::array<std::size_t, 2> written{};
    auto const thrown = try_on_ranks(2, [&](auto const& on) {
        std::size_t const r = on.rank();
        arguments a{
            r == 0 ? 0U : 2U, matrix_view(logits.data() + 2 * r, 2, r == 0 ? 2 : 3, 5, 1), {1, 4}};
        change(r, a);
        std::vector<float> out(a.outputs, -7.0F), entropy(2, -7.0F);
        std::vector<row_normalizer<float>> kept(a.kept);
        auto outputs = prefer::token_outputs(out);
        if (a.entropy) outputs = outputs.with_entropy(entropy);
        try {
            if (a.bias.empty()) {
                vocabulary_parallel_token_log_probs(on, a.first_column, a.logits, a.labels, outputs,
                                                    kept, a.options);
            } else {
                vocabulary_parallel_token_log_probs(on, a.first_column,
                                                    prefer::biased(a.logits, a.bias), a.labels,
                                                    outputs, kept, a.options);
            }
        } catch (std::invalid_argument const& e) {
            o.words[r] = e.what();
        }
        o.calls[r] = on.calls();
        for (auto const* values : {&out, &entropy}) {
            for (float const x : *values) written[r] += x > -7.0F ? 1U : 0U;
        }
    });
    for (auto const& e : thrown) CHECK_FALSE(e);  // no rank was left by another
    o.written = written[0] + written[1];
    return o;
}

/// Words are "" for none.
bool says(std::string const& text, std::string const& words) {
    return words.empty() ? text.empty() : text.find(words) != std::string::npos;
}

TEST_CASE("vocabulary_parallel: nothing is wrong with the arguments that the next tests change") {
    auto const o = forward_with([](std::size_t, arguments&) {});
    CHECK(o.words[0].empty());
    CHECK(o.words[1].empty());
    CHECK(o.written == 4);
    CHECK(o.calls == std::vector<std::size_t>{2, 2});
}

TEST_CASE("vocabulary_parallel: what is the same everywhere is refused before any reduction") {
    auto const check = [](auto change, std::string const& words) {
        auto const o = forward_with(change);
        CAPTURE(o.words);
        for (std::size_t const r : {0U, 1U}) {
            CHECK(says(o.words[r], "prefer::vocabulary_parallel_token_log_probs: "));
            CHECK(says(o.words[r], words));
            CHECK(o.calls[r] == 0);
        }
        CHECK(o.written == 0);
    };
    for (std::int64_t const bad : {std::int64_t{5}, std::int64_t{-1}}) {  // L14
        check([&](std::size_t, arguments& a) { a.labels[1] = bad; },
              "labels[1] is " + std::to_string(bad) +
                  ", but must be in [0, 5) or the ignore index -100");
    }
    check([](std::size_t, arguments& a) { a.options.vocabulary = 0; },
          "vocabulary is 0, but must be given");
    check([](std::size_t, arguments& a) { a.options.temperature = 0; }, "temperature is 0");
}

TEST_CASE("vocabulary_parallel: what is wrong on one rank is an error on all") {
    auto const check = [](auto change, std::string const& here, std::string const& there) {
        for (std::size_t const bad : {0U, 1U}) {
            auto const o = forward_with([&](std::size_t r, arguments& a) {
                if (r == bad) change(a);
            });
            CAPTURE(o.words, bad);
            CHECK(says(o.words[bad], here));
            CHECK(says(o.words[1 - bad],
                       there.empty() ? "rank " + std::to_string(bad) +
                                           " was given arguments that do not fit; it says which"
                                     : there));
            CHECK(o.calls == std::vector<std::size_t>{1, 1});
            CHECK(o.written == 0);
        }
    };
    check(
        [](arguments& a) { a.logits = matrix_view(a.logits.data(), 1, a.logits.columns(), 5, 1); },
        "logits_part's rows has size 1, but labels has size 2", "");
    check([](arguments& a) { a.outputs = 3; }, "token_logp has size 3", "");
    check([](arguments& a) { a.kept = 1; }, "normalizers has size 1", "");
    check([](arguments& a) { a.bias = {1, 2, 3, 4}; }, "bias has size 4", "");
    std::string const wish = "of the ranks 0 and 1, only one asks for the entropy";
    check([](arguments& a) { a.entropy = true; }, wish, wish);
    std::string const part = "the columns from ";
    check([](arguments& a) { a.first_column = 1; }, part, part);
}

TEST_CASE("vocabulary_parallel: parts with a gap, an overlap, or an end missing") {
    auto const check = [](std::size_t first, std::size_t columns, std::string const& words) {
        std::vector<float> const more(20, 0.0F);
        auto const o = forward_with([&](std::size_t r, arguments& a) {
            if (r == 0) return;  // holds [0, 2)
            a.first_column = first;
            a.logits = matrix_view(more.data(), 2, columns);
        });
        CAPTURE(first, columns, o.words);
        for (std::size_t const r : {0U, 1U}) CHECK(says(o.words[r], words));
        CHECK(o.written == (words.empty() ? 4U : 0U));
    };
    check(3, 2, "the columns from 2 are on no rank");
    check(2, 2, "the columns from 4 are on no rank");
    check(7, 2, "the columns from 2 are on no rank");
    check(1, 4, "the columns from 1 are on two ranks");
    check(0, 5, "the columns from 0 are on two ranks");
    check(2, 3, "");
    check(2, 6, "");  // three columns of padding
}

TEST_CASE("vocabulary_parallel: errors of the backward") {
    std::vector<float> const logits(6, 0.0F);
    matrix_view const x(logits.data(), 2, 3);
    std::vector<int> const labels{0, 4}, bad{0, 5}, three{0, 1, 2};
    std::vector<row_normalizer<float>> const kept(2), one(1);
    std::vector<float> const g{1, 1};
    std::vector<float> d(6, 5.0F);
    matrix_view const out(d.data(), 2, 3);
    token_options const options{.vocabulary = 5};
    auto const run = [&](auto const& y, auto const& normalizers, auto const& upstream,
                         matrix_view<float> into) {
        vocabulary_parallel_token_log_probs_backward(2, x, y, normalizers, upstream, into, options);
    };
    CHECK_THROWS_MESSAGE(run(bad, kept, g, out), value_error, "labels[1] is 5");
    CHECK_THROWS_MESSAGE(run(three, kept, g, out), shape_error, "labels has size 3");
    CHECK_THROWS_MESSAGE(run(labels, one, g, out), shape_error, "normalizers has size 1");
    CHECK_THROWS_MESSAGE(run(labels, kept, std::vector<float>(3), out), shape_error,
                         "d_token_logp has size 3");
    CHECK_THROWS_MESSAGE(run(labels, kept, g, matrix_view(d.data(), 1, 3)), shape_error,
                         "d_logits_part's rows has size 1");
    CHECK_THROWS_MESSAGE(run(labels, kept, g, matrix_view(d.data(), 2, 2)), shape_error,
                         "d_logits_part's columns has size 2");
    CHECK_SAME(d, std::vector<float>(6, 5.0F));
}

TEST_CASE("the example of vocabulary_parallel_token_log_probs") {
    std::vector<float> const logits(2 * 5, 0.25F);
    std::vector<int> const labels{0, 4};
    std::vector<double> const d_token_logp{5, 0};
    std::vector<std::vector<float>> logp(2, std::vector<float>(2)), gradients(2);
    on_ranks(2, [&](auto const& ranks) {
        std::size_t const first_column = ranks.rank() == 0 ? 0 : 3;
        std::size_t const columns = ranks.rank() == 0 ? 3 : 2;
        matrix_view const logits_part(logits.data() + first_column, 2, columns, 5, 1);
        std::vector<float>& token_logp = logp[ranks.rank()];
        gradients[ranks.rank()].resize(2 * columns);
        matrix_view const d_logits_part(gradients[ranks.rank()].data(), 2, columns);

        prefer::token_options const options{.vocabulary = 5};
        std::vector<prefer::row_normalizer<float>> kept(labels.size());
        prefer::vocabulary_parallel_token_log_probs(ranks, first_column, logits_part, labels,
                                                    token_logp, kept, options);
        // … a loss gives d_token_logp [N], the same on every rank …
        prefer::vocabulary_parallel_token_log_probs_backward(
            first_column, logits_part, labels, kept, d_token_logp, d_logits_part, options);
    });
    for (auto const& token_logp : logp) {
        CHECK_CLOSE(token_logp[0], -1.6094379124341003, family::log_prob);  // -log 5
        CHECK_CLOSE(token_logp[1], -1.6094379124341003, family::log_prob);
    }
    CHECK_CLOSE(gradients[0], std::array{4.0, -1.0, -1.0, 0.0, 0.0, 0.0}, family::gradient);
    CHECK_CLOSE(gradients[1], std::array{-1.0, -1.0, 0.0, 0.0}, family::gradient);
}

}  // namespace
