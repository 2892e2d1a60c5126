// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <prefer/core/element.hpp>
#include <prefer/core/example_batch.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/aot_quantiles.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::loss {

/// The partners of `aot_unpaired`: for each example, the log-ratio of equal rank of the other kind.
///
/// Over all examples added, the log-ratios log π - log π_ref of the desirable and of the
/// undesirable ones are sorted apart; the i-th smallest of each are a couple. Of equal log-ratios
/// the one added earlier has the lower rank, so who is whose partner depends on the order of
/// addition, but the loss of the batch does not.
///
/// A step has two stages: `add` every micro-batch (over ranks: `+=` in one agreed order, which puts
/// the examples of the other behind one's own), then ask for the `partners` of each and evaluate it
/// with them as scores:
///
/// ```cpp
/// prefer::loss::aot_partners couples;
/// auto place = couples.add(batch);              // for each micro-batch
/// couples.partners(batch, place, partners);     // for each micro-batch, when all are added
/// evaluate_examples(prefer::loss::aot_unpaired{}, batch.with_scores(partners), gradients,
///                   {.normalizer = couples.couples()});   // the mean over couples
/// ```
///
/// Value and gradients of the parts then add up to those of the whole batch, each couple counted
/// once. There have to be as many examples of one kind as of the other: `partners` throws
/// `value_error` otherwise. Examples of weight 0 are not read and have no rank; their partner is 0.
/// Log-ratios are kept in double. `add` throws `shape_error` for sizes that differ and
/// `value_error` for a NaN or infinite log-prob, a label that is neither 0 nor 1, or a batch
/// without labels or reference, and adds nothing then. Start a new one for the next step.
/// Source: I. Melnyk et al. 2024, the unpaired setting.
class aot_partners {
public:
    /// Where the examples of a micro-batch begin among those of each kind.
    struct place {
        ::std::size_t desirable = 0;
        ::std::size_t undesirable = 0;
    };

    /// Adds the counted examples of a micro-batch. Returns its place.
    template <class T, class Length, class Label>
    place add(example_batch<T, Length, Label> const& batch) {
        char const* const name = "loss::aot_partners::add";
        check_sizes(name, batch);
        aot_partners next;
        for (::std::size_t i = 0; i < batch.size(); ++i) {
            if (!counted(batch, i)) continue;
            double const ratio = number(name, "policy", batch.policy, i) -
                                 number(name, "reference", batch.reference, i);
            (desirable(name, batch, i) ? next.desirable_ : next.undesirable_).push_back(ratio);
        }
        place const here{desirable_.size(), undesirable_.size()};
        *this += next;
        return here;
    }

    /// The examples of another micro-batch or rank, behind these; their places grow by the numbers
    /// of either kind.
    aot_partners& operator+=(aot_partners const& other) {
        auto const append = [](::std::vector<double>& to, ::std::vector<double> from) {
            to.insert(to.end(), from.begin(), from.end());
        };
        append(desirable_, other.desirable_);
        append(undesirable_, other.undesirable_);
        return *this;
    }

    /// The log-ratios of either kind in the order of addition: what is gathered over ranks.
    ::std::vector<double> const& desirable_log_ratios() const { return desirable_; }
    ::std::vector<double> const& undesirable_log_ratios() const { return undesirable_; }

    /// From gathered log-ratios. Throws `value_error` for one that is NaN or infinite.
    static aot_partners from(::std::vector<double> desirable, ::std::vector<double> undesirable) {
        char const* const name = "loss::aot_partners::from";
        auto const check = [&](::std::vector<double> const& values, char const* argument) {
            vector_view<double const> const all(values.data(), values.size());
            for (::std::size_t i = 0; i < values.size(); ++i) number(name, argument, all, i);
        };
        check(desirable, "desirable");
        check(undesirable, "undesirable");
        aot_partners out;
        out.desirable_ = ::std::move(desirable);
        out.undesirable_ = ::std::move(undesirable);
        return out;
    }

    /// The number of couples; throws `value_error` when one kind has more examples than the other.
    ::std::size_t couples() const {
        if (desirable_.size() != undesirable_.size()) {
            throw value_error(detail::message(
                "prefer::loss::aot_partners: there are ", desirable_.size(), " desirable and ",
                undesirable_.size(), " undesirable examples, but each needs a partner"));
        }
        return desirable_.size();
    }

    /// The partners of the micro-batch at that place, to `out [B]`, written whole, in the element
    /// type of `out`. Throws `value_error` when there are fewer examples behind that place than the
    /// micro-batch has. O(n log n) in the number of examples added; allocates.
    template <class T, class Length, class Label, class Out>
    void partners(example_batch<T, Length, Label> const& batch, place at, Out&& out) const {
        char const* const name = "loss::aot_partners::partners";
        auto const to = as_vector(out);
        using X = typename decltype(to)::value_type;
        check_sizes(name, batch);
        detail::require_size(name, "out", to.size(), "policy", batch.size());
        couples();
        place end = at;
        for (::std::size_t i = 0; i < batch.size(); ++i) {
            if (!counted(batch, i)) continue;
            ++(desirable(name, batch, i) ? end.desirable : end.undesirable);
        }
        if (end.desirable > desirable_.size() || end.undesirable > undesirable_.size()) {
            throw value_error(detail::message(
                "prefer::", name, ": from the place (", at.desirable, ", ", at.undesirable,
                ") on, the micro-batch has more examples than were added"));
        }
        auto const of_desirable = detail::of_equal_rank(desirable_, undesirable_);
        auto const of_undesirable = detail::of_equal_rank(undesirable_, desirable_);
        for (::std::size_t i = 0; i < batch.size(); ++i) {
            double partner = 0;
            if (counted(batch, i)) {
                partner = desirable(name, batch, i) ? of_desirable[at.desirable++]
                                                    : of_undesirable[at.undesirable++];
            }
            to[i] = static_cast<X>(static_cast<compute_t<X>>(partner));
        }
    }

private:
    template <class T, class Length, class Label>
    static void check_sizes(char const* name, example_batch<T, Length, Label> const& batch) {
        auto const require = [&](bool given, auto const& column, char const* argument) {
            if (!given) {
                throw value_error(
                    detail::message("prefer::", name, ": ", argument, " is needed, but not given"));
            }
            detail::require_size(name, argument, column.size(), "policy", batch.size());
        };
        require(batch.has_reference, batch.reference, "reference");
        require(batch.has_labels, batch.labels, "labels");
        if (batch.has_weights) require(true, batch.weights, "weights");
    }

    template <class T, class Length, class Label>
    static bool counted(example_batch<T, Length, Label> const& batch, ::std::size_t i) {
        if (!batch.has_weights) return true;
        auto const w = static_cast<compute_t<T>>(batch.weights[i]);
        return !(w <= 0 && w >= 0);
    }

    template <class T, class Length, class Label>
    static bool desirable(char const* name, example_batch<T, Length, Label> const& batch,
                          ::std::size_t i) {
        auto const label = static_cast<compute_t<T>>(batch.labels[i]);
        if (label >= 1 && label <= 1) return true;
        if (!(label >= 0 && label <= 0)) {
            detail::throw_bad_element(name, "labels", i, label, "0 or 1");
        }
        return false;
    }

    template <class T>
    static double number(char const* name, char const* argument, vector_view<T const> values,
                         ::std::size_t i) {
        auto const x = static_cast<compute_t<T>>(values[i]);
        if (!math::is_finite(x)) detail::throw_bad_element(name, argument, i, x, "finite");
        return static_cast<double>(x);
    }

    ::std::vector<double> desirable_;
    ::std::vector<double> undesirable_;
};

}  // namespace prefer::loss
