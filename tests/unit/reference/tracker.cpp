// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/threads.hpp"

#include <prefer/core/random.hpp>
#include <prefer/core/state.hpp>
#include <prefer/reference/reference.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

using prefer::bfloat16;
using prefer::half;
using prefer::philox;
using prefer::shape_error;
using prefer::state_error;
using prefer::value_error;
using namespace prefer::reference;
using prefer::test::family;
using prefer::test::threads;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::vector<T> some(std::size_t n, std::uint64_t seed) {
    philox rng(seed);
    std::vector<T> out(n);
    for (auto& x : out) {
        x = static_cast<T>(static_cast<prefer::compute_t<T>>(prefer::uniform01<double>(rng) - 0.5));
    }
    return out;
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace

TEST_CASE("tracker: the golden sequence of the soft update") {
    // reference 0, policy t in step t, α = 0.6, every 2: 0.6 · 2 = 1.2; 1.2 + 0.6 · 2.8 = 2.88.
    std::vector<double> policy{0}, reference{0};
    tracker ref{soft{.alpha = 0.6, .every = 2}};
    std::vector<double> const expected{0, 1.2, 1.2, 2.88};
    for (std::size_t t = 0; t < 4; ++t) {
        policy[0] = static_cast<double>(t + 1);
        CHECK(ref.after_step(policy, reference) == (t % 2 == 1));
        CHECK_CLOSE(reference[0], expected[t], family::elementwise);
    }
    CHECK(ref.steps() == 4);
    CHECK(ref.updates() == 2);
}

TEST_CASE("soft: alpha is the policy's share, not the decay") {
    for (double const alpha : {0.6, 0.05}) {
        std::vector<double> const policy{1};
        std::vector<double> reference{0};
        tracker ref{soft{.alpha = alpha}};
        ref.after_step(policy, reference);
        CHECK_CLOSE(reference[0], alpha, family::elementwise);
    }
    // Towards the policy, for every rate: 1.1 -> 1, a hundredth of the way each step.
    std::vector<double> const policy{1};
    std::vector<double> reference{1.1};
    tracker ref{soft{.alpha = 0.01}};
    ref.after_step(policy, reference);
    CHECK_CLOSE(reference[0], 1.099, family::elementwise);
    for (int step = 1; step < 250; ++step) ref.after_step(policy, reference);
    CHECK_CLOSE(reference[0], 1.00810585, family::quoted);
}

TEST_CASE("hard: at step every, twice every, and so on, exactly") {
    std::vector<float> policy{1}, reference{0};
    tracker ref{hard{.every = 3}};
    for (int step = 1; step <= 9; ++step) {
        policy[0] = static_cast<float>(step);
        CHECK(ref.after_step(policy, reference) == (step % 3 == 0));
        CHECK_SAME(reference[0], static_cast<float>(step - step % 3));
    }
    CHECK(ref.updates() == 3);
}

TEMPLATE_TEST_CASE("tracker: rate 1 copies bits, rate 0 and equal numbers change nothing", "",
                   double, float, bfloat16, half) {
    std::vector<TestType> policy = some<TestType>(1000, 1);
    using C = prefer::compute_t<TestType>;
    policy[0] = static_cast<TestType>(static_cast<C>(not_a_number));
    policy[1] = static_cast<TestType>(static_cast<C>(-0.0));
    policy[2] = static_cast<TestType>(static_cast<C>(infinity));
    std::vector<TestType> reference = some<TestType>(1000, 2);
    auto const before = reference;
    tracker zero{soft{.alpha = 0}};
    CHECK_FALSE(zero.after_step(policy, reference));
    CHECK(same_bits(reference, before));
    tracker one{hard{.every = 1}};
    CHECK(one.after_step(policy, reference));
    CHECK(same_bits(reference, policy));
    policy[0] = reference[0] = static_cast<TestType>(C(1));
    auto const there = reference;
    tracker part{soft{.alpha = 0.3}};
    CHECK(part.after_step(policy, reference));
    CHECK(same_bits(reference, there));
    CHECK(part.last().what.stuck == 0);
    CHECK(part.last().what.elements == 1000);
}

TEST_CASE("tracker: frozen never moves, and counts") {
    std::vector<double> const policy{1};
    std::vector<double> reference{0};
    tracker ref{frozen{}};
    for (int i = 0; i < 5; ++i) CHECK_FALSE(ref.after_step(policy, reference));
    CHECK_SAME(reference[0], 0.0);
    CHECK(ref.steps() == 5);
}

TEST_CASE("bfloat16: a small rate is lost by rounding, and said so; a shadow keeps it") {
    // reference 1, policy 2, rate 0.001, 1000 times: 2 - 0.999^1000 = 1.63230458.
    std::vector<bfloat16> const policy(64, bfloat16(2.0F));
    std::vector<bfloat16> nearest(64, bfloat16(1.0F)), stochastic = nearest, shadowed = nearest;
    std::vector<float> shadow(64, 1.0F);
    tracker plain{soft{.alpha = 0.001}};
    tracker random{soft{.alpha = 0.001}, {.rounding = rounding::stochastic, .seed = 3}};
    tracker with_shadow{soft{.alpha = 0.001}};
    policy_parameters from;
    reference_parameters middle, to;
    from.add("w", policy);
    middle.add("w", shadow);
    to.add("w", shadowed);
    for (int step = 0; step < 1000; ++step) {
        plain.after_step(policy, nearest);
        random.after_step(policy, stochastic);
        with_shadow.after_step_with_shadow(from, middle, to);
    }
    CHECK_SAME(static_cast<float>(nearest[0]), 1.0F);
    CHECK(plain.last().what.stuck == 64);
    CHECK_SAME(static_cast<float>(shadowed[0]), 1.6328125F);  // 209 / 128, the nearest
    CHECK_CLOSE(shadow[0], 1.63230458, family::gradient);
    double mean = 0;
    for (auto const x : stochastic) mean += static_cast<double>(static_cast<float>(x)) / 64;
    // One element has a deviation of about sqrt(1000 · 2^-7 · 0.001 / 2) ~ 0.06; five of the mean.
    CHECK(std::abs(mean - 1.6323) < 0.04);
}

TEMPLATE_TEST_CASE("stochastic rounding: the two neighbours, in the right proportion", "", bfloat16,
                   half) {
    // 65536 random numbers, each once: the mean is the number itself, to 2^-16 of a step.
    std::vector<float> const numbers{1.001F, -1.001F, 0.3F,     -3e-5F,  1e-7F, -5e-8F,
                                     0.0F,   2.0F,    65000.7F, 1.9999F, 3e-39F};
    for (float const x : numbers) {
        double sum = 0;
        float least = std::numeric_limits<float>::infinity(), most = -least;
        for (std::uint32_t bits = 0; bits < 65536; ++bits) {
            auto const rounded =
                static_cast<float>(prefer::detail::round_stochastic<TestType>(x, bits));
            sum += static_cast<double>(rounded);
            least = std::min(least, rounded);
            most = std::max(most, rounded);
        }
        CAPTURE(x, least, most);
        CHECK(least <= x);
        CHECK(most >= x);
        double const gap = static_cast<double>(most) - static_cast<double>(least);
        CHECK(std::abs(sum / 65536 - static_cast<double>(x)) <= gap * 0x1p-15);
        // Neighbours: nothing lies between them.
        auto const middle = static_cast<float>(static_cast<TestType>(least + (most - least) / 2));
        CHECK((middle <= least || middle >= most));
    }
    float const inf = std::numeric_limits<float>::infinity();
    CHECK_SAME(static_cast<float>(prefer::detail::round_stochastic<TestType>(inf, 65535)), inf);
    CHECK(std::isnan(static_cast<float>(
        prefer::detail::round_stochastic<TestType>(static_cast<float>(not_a_number), 65535))));
}

TEST_CASE("tracker: slices and threads give the bits of the whole") {
    std::size_t const n = 200001;
    auto const policy = some<bfloat16>(n, 1);
    auto const start = some<bfloat16>(n, 2);
    for (auto const how : {rounding::nearest, rounding::stochastic}) {
        std::uint64_t const base = (std::uint64_t{1} << 33) - 100001;  // the keys change inside
        auto whole = start;
        policy_parameters from;
        reference_parameters to;
        from.add("w", policy, base);
        to.add("w", whole, base);
        tracker_options const options{.rounding = how, .seed = 9};
        tracker ref{soft{.alpha = 0.1}, options};
        ref.after_step(from, to);
        ref.after_step(from, to);

        for (std::size_t const workers : {1U, 3U}) {
            auto sliced = start;
            policy_parameters from_slices;
            reference_parameters to_slices;
            std::vector<std::size_t> const cuts{0, 1, 4097, 100003, n};
            for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
                std::size_t const size = cuts[k + 1] - cuts[k];
                from_slices.add(std::to_string(k),
                                prefer::vector_view<bfloat16 const>(policy.data() + cuts[k], size),
                                base + cuts[k]);
                to_slices.add(std::to_string(k),
                              prefer::vector_view<bfloat16>(sliced.data() + cuts[k], size),
                              base + cuts[k]);
            }
            tracker parts{soft{.alpha = 0.1}, options};
            parts.after_step(threads{workers}, from_slices, to_slices);
            parts.after_step(threads{workers}, from_slices, to_slices);
            CHECK(same_bits(sliced, whole));
            CHECK(parts.last().what.stuck == ref.last().what.stuck);
            CHECK(parts.last().what.elements == n);
        }
    }
}

TEMPLATE_TEST_CASE("tracker: registers and single elements give the same bits", "", bfloat16,
                   half) {
    // With gaps between them, elements are taken one by one; special numbers and ties are among
    // them.
    auto policy = some<TestType>(1001, 3);
    auto start = some<TestType>(1001, 4);
    std::uint16_t bits = 0;
    for (std::size_t i = 0; i < 600; ++i) {
        policy[i].bits = bits = static_cast<std::uint16_t>(bits + 109);
        start[i].bits = static_cast<std::uint16_t>(i % 3 == 0 ? bits : bits * 7);
    }
    for (auto const how : {rounding::nearest, rounding::stochastic}) {
        auto together = start;
        std::vector<TestType> apart(2002);
        for (std::size_t i = 0; i < start.size(); ++i) apart[2 * i] = start[i];
        policy_parameters from;
        reference_parameters to, to_apart;
        from.add("w", policy, 5);
        to.add("w", together, 5);
        to_apart.add("w", prefer::vector_view<TestType>(apart.data(), 1001, 2), 5);
        tracker one{soft{.alpha = 0.002}, {.rounding = how, .seed = 6}};
        tracker other{soft{.alpha = 0.002}, {.rounding = how, .seed = 6}};
        one.after_step(from, to);
        other.after_step(from, to_apart);
        for (std::size_t i = 0; i < start.size(); ++i) {
            CAPTURE(i);
            float const a = static_cast<float>(together[i]);
            float const b = static_cast<float>(apart[2 * i]);
            REQUIRE((together[i].bits == apart[2 * i].bits || (std::isnan(a) && std::isnan(b))));
        }
        CHECK(one.last().what.stuck == other.last().what.stuck);
        CHECK(one.last().what.stuck > 0);
    }
}

TEST_CASE("tracker: strided tensors, and other element types by choice") {
    std::vector<float> const policy{1, 9, 3, 9, 5};
    std::vector<double> reference{0, 7, 0, 7, 0, 7};
    policy_parameters from;
    reference_parameters to;
    from.add("w", prefer::vector_view<float const>(policy.data(), 3, 2));
    to.add("w", prefer::vector_view<double>(reference.data(), 3, 2));
    tracker strict{hard{.every = 1}};
    CHECK_THROWS_WITH(strict.after_step(from, to), Catch::Contains("another element type"));
    CHECK(strict.steps() == 0);
    tracker ref{soft{.alpha = 0.5}, {.any_type = true}};
    CHECK(ref.after_step(from, to));
    CHECK(reference == std::vector<double>{0.5, 7, 1.5, 7, 2.5, 7});
}

TEST_CASE("tracker: a copy into another type is the policy, rounded once") {
    // From an infinite reference, and where the difference is rounded: 1e8 - 1 is no float.
    std::vector<float> const policy{1, 1e8F, 3};
    std::vector<bfloat16> reference{bfloat16(static_cast<float>(infinity)), bfloat16(1.0F),
                                    bfloat16(-2.0F)};
    tracker ref{hard{.every = 1}, {.any_type = true}};
    CHECK(ref.after_step(policy, reference));
    for (std::size_t i = 0; i < policy.size(); ++i) {
        CHECK(reference[i].bits == bfloat16(policy[i]).bits);
    }
}

TEST_CASE("tracker: sets that do not fit are refused before anything moves") {
    std::vector<float> const a{1, 2}, b{3, 4, 5};
    std::vector<float> ra{0, 0}, rb{0, 0, 0};
    tracker ref{hard{.every = 1}};
    auto const refused = [&](reference_parameters const& to, char const* why) {
        policy_parameters from;
        from.add("a", a).add("b", b);
        CHECK_THROWS_AS(ref.after_step(from, to), shape_error);
        CHECK_THROWS_WITH(ref.after_step(from, to), Catch::Contains(why));
        CHECK(ra == std::vector<float>{0, 0});
        CHECK(rb == std::vector<float>{0, 0, 0});
        CHECK(ref.steps() == 0);
    };
    refused(reference_parameters{}.add("a", ra), "has 2 tensors, but reference has 1");
    refused(reference_parameters{}.add("b", rb).add("a", ra), "another name");
    refused(reference_parameters{}.add("a", rb).add("b", ra), "another size");
    refused(reference_parameters{}.add("a", ra, 5).add("b", rb), "another first element");
    std::vector<double> wide{0, 0, 0};
    refused(reference_parameters{}.add("a", ra).add("b", wide), "another element type");
    CHECK_THROWS_AS(reference_parameters{}.add("a", ra).add("a", rb), value_error);
    std::vector<float> gaps(12);
    prefer::matrix_view<float> const with_gaps(gaps.data(), 2, 3, 6, 1);
    CHECK_THROWS_AS(reference_parameters{}.add("a", with_gaps), shape_error);
    prefer::matrix_view<float> const without(gaps.data(), 4, 3);
    CHECK(reference_parameters{}.add("a", without).tensors()[0].size() == 12);
}

TEST_CASE("tracker: a reference in the policy's memory, or moved twice, is refused") {
    std::vector<float> memory(10, 1.0F), other(4, 0.0F);
    auto const part = [&](std::size_t first) {
        return prefer::vector_view<float>(memory.data() + first, 4);
    };
    tracker ref{hard{.every = 1}};
    CHECK_THROWS_WITH(ref.after_step(memory, memory), Catch::Contains("shares memory"));
    CHECK_THROWS_AS(ref.after_step(part(0), part(3)), value_error);
    CHECK_THROWS_AS(ref.after_step(part(3), part(0)), value_error);
    CHECK(ref.after_step(part(0), part(4)));  // neighbours
    policy_parameters tied;
    tied.add("a", part(0)).add("b", part(2));
    reference_parameters twice, apart;
    twice.add("a", other).add("b", other);
    CHECK_THROWS_AS(ref.after_step(tied, twice), value_error);
    // Tied weights of the policy are fine.
    std::vector<float> another(4, 0.0F);
    apart.add("a", other).add("b", another);
    CHECK(ref.after_step(tied, apart));
    // Overlap with a later tensor than the neighbour in memory.
    policy_parameters inside;
    inside.add("a", memory);
    std::vector<float> ten(10);
    reference_parameters small;
    small.add("a", prefer::vector_view<float>(ten.data(), 10));
    CHECK(ref.after_step(inside, small));
}

TEST_CASE("tracker: before the step, by its own name") {
    std::vector<double> policy{1}, reference{0};
    tracker ref{hard{.every = 2}, {.before_step = true}};
    CHECK_THROWS_AS(ref.after_step(policy, reference), value_error);
    CHECK_FALSE(ref.before_step(policy, reference));
    policy[0] = 2;  // the first step
    CHECK(ref.before_step(policy, reference));
    policy[0] = 3;  // the second step, which began with 2
    CHECK_SAME(reference[0], 2.0);
    tracker after{hard{.every = 2}};
    CHECK_THROWS_AS(after.before_step(policy, reference), value_error);
}

TEST_CASE("tracker: schedules and signals") {
    std::vector<double> policy{1}, reference{0};
    tracker ref{scheduled{[](std::uint64_t step) { return step == 2 ? 0.5 : 0.0; }}};
    CHECK_FALSE(ref.after_step(policy, reference));
    CHECK(ref.after_step(policy, reference));
    CHECK_SAME(reference[0], 0.5);
    tracker wrong{scheduled{[](std::uint64_t) { return 1.5; }}};
    CHECK_THROWS_AS(wrong.after_step(policy, reference), value_error);
    CHECK_SAME(reference[0], 0.5);

    // At most every third step, when the gradient scale is below 0.1.
    tracker weak{on_signal{.limit = 0.1, .every = 3}};
    std::vector<double> const scale{0.05, 0.05, 0.5, 0.05, 0.05, 0.1, 0.09};
    std::vector<bool> moved;
    for (double const s : scale) moved.push_back(weak.after_step(policy, reference, s));
    CHECK(moved == std::vector<bool>{false, false, false, true, false, false, true});
    CHECK_THROWS_AS(weak.after_step(policy, reference, not_a_number), value_error);
    tracker budget{on_signal{.limit = 5, .side = signal_side::above, .alpha = 0.5}};
    CHECK_FALSE(budget.after_step(policy, reference, 5));
    CHECK(budget.after_step(policy, reference, 5.1));
}

TEST_CASE("tracker: wrong options") {
    CHECK_THROWS_AS(tracker{soft{.alpha = -0.1}}, value_error);
    CHECK_THROWS_AS(tracker{soft{.alpha = 1.1}}, value_error);
    CHECK_THROWS_AS(tracker{soft{.alpha = not_a_number}}, value_error);
    CHECK_THROWS_AS((tracker{soft{.alpha = 0.5, .every = 0}}), value_error);
    CHECK_THROWS_AS(tracker{hard{.every = 0}}, value_error);
    CHECK_THROWS_AS(tracker{on_signal{.limit = infinity}}, value_error);
}

TEST_CASE("tracker: saved and loaded between any two steps") {
    auto const policy = some<bfloat16>(300, 1);
    auto whole = some<bfloat16>(300, 2);
    auto parts = whole;
    tracker_options const options{.rounding = rounding::stochastic, .seed = 4};
    tracker uninterrupted{soft{.alpha = 0.05, .every = 3}, options};
    tracker current = uninterrupted;
    for (int step = 1; step <= 10; ++step) {
        prefer::state_writer out;
        current.save(out, "reference");
        auto const bytes = out.finish();
        prefer::state_reader in(bytes);
        tracker loaded{soft{.alpha = 0.05, .every = 3}, options};
        loaded.load(in, "reference");
        current = loaded;
        CHECK(current.after_step(policy, parts) == (step % 3 == 0));
        CHECK(uninterrupted.after_step(policy, whole) == (step % 3 == 0));
        REQUIRE(same_bits(whole, parts));
        CHECK(current.updates() == uninterrupted.updates());
    }
    prefer::state_writer out;
    current.save(out, "reference");
    auto const bytes = out.finish();
    auto const refuses = [&](auto other) {
        prefer::state_reader in(bytes);
        CHECK_THROWS_AS(other.load(in, "reference"), state_error);
        CHECK(other.steps() == 0);
    };
    refuses(tracker{soft{.alpha = 0.06, .every = 3}, options});
    refuses(tracker{hard{.every = 3}, options});
    refuses(tracker{soft{.alpha = 0.05, .every = 3}});
}
