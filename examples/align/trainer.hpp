// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <prefer/backend/eigen.hpp>
#include <prefer/prefer.hpp>

#include "align/adam.hpp"
#include "align/any_loss.hpp"
#include "align/model.hpp"
#include "align/reference_rule.hpp"
#include "align/shuffle.hpp"
#include "align/vocabulary.hpp"
#include "align/workers.hpp"

namespace align {

/// The independent streams of random numbers of one run.
enum class stream : std::uint64_t { parameters, split, supervised, preferences, samples, task };

inline prefer::philox generator(std::uint64_t seed, stream s) {
    return prefer::philox(seed, static_cast<std::uint64_t>(s));
}

struct trainer_options {
    std::size_t batch = 16;  ///< responses (fine-tuning) or pairs (alignment) in a step
    std::size_t threads = 1;
    std::uint64_t seed = 1;
    reference_rule reference = prefer::reference::frozen{};
};

/// Several sequences, one after the other, as the library's packed layout has them.
struct packed_sequences {
    std::vector<token> tokens;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int64_t> prompt_lengths;
    std::vector<token> labels;

    void add(sequence const& s) {
        tokens.insert(tokens.end(), s.tokens.begin(), s.tokens.end());
        offsets.push_back(static_cast<std::int64_t>(tokens.size()));
        prompt_lengths.push_back(s.prompt_length);
    }

    /// Row i of the logits predicts token i + 1: the library does the shift. Returns the number of
    /// scored tokens.
    std::size_t make_labels() {
        labels.resize(tokens.size());
        return prefer::next_token_labels(tokens, offsets, prompt_lengths, labels).tokens;
    }

    auto layout() const { return prefer::packed(offsets).with_labels(labels); }
    std::size_t size() const { return prompt_lengths.size(); }
};

/// Preferences ready for training, and the log-probs of them under a frozen reference, computed
/// once; empty where the reference moves.
struct preference_set {
    std::vector<sequence_pair> pairs;
    std::vector<double> reference_chosen;
    std::vector<double> reference_rejected;
};

/// Supervised fine-tuning and alignment of one model. Everything that starts with `prefer::` is the
/// library; the rest is what a trainer has anyway.
template <class Scalar>
class trainer {
public:
    using parameters = parameter_vector<Scalar>;

    trainer(model_shape const& shape, preference_set training, preference_set held_out,
            trainer_options const& options)
        : model_(shape), training_(std::move(training)), held_out_(std::move(held_out)),
          options_(options), on_(options.threads),
          backend_{.threads = static_cast<int>(options.threads)},
          policy_(model_.initial_parameters(generator(options.seed, stream::parameters))),
          tracker_(options.reference), optimiser_(model_.parameter_count()),
          supervised_(training_.pairs.size(), generator(options.seed, stream::supervised)),
          preferences_(training_.pairs.size(), generator(options.seed, stream::preferences)) {}

    model<Scalar> const& language_model() const { return model_; }
    workers const& threads() const { return on_; }
    parameters const& policy() const { return policy_; }

    /// Where alignment started; nothing before that.
    parameters const& fine_tuned() const { return fine_tuned_; }

    preference_set const& training() const { return training_; }
    preference_set const& held_out() const { return held_out_; }

    /// One step of fine-tuning on chosen responses. Returns the loss: nats per token.
    double supervised_step(double rate) {
        packed_sequences batch;
        for (std::size_t const i : supervised_.next(options_.batch)) {
            batch.add(training_.pairs[i].chosen);
        }
        forward(batch, policy_);
        double const loss = -prefer::reduce(token_log_probs_, batch.layout());

        d_token_log_probs_.resize(batch.tokens.size());
        prefer::reduce_backward(-1.0, batch.layout(), d_token_log_probs_);
        backward_and_step(batch, rate);
        return loss;
    }

    /// The policy as it is now becomes the reference, and alignment starts with a fresh optimiser.
    void start_alignment() {
        fine_tuned_ = policy_;
        reference_ = policy_;
        optimiser_ = adam<Scalar>(model_.parameter_count());
        if (tracker_.frozen()) score_reference();
    }

    /// One step of alignment with any loss over pairs.
    prefer::pair_summary preference_step(any_loss const& loss, double rate) {
        std::vector<std::size_t> const chosen_pairs = preferences_.next(options_.batch);
        packed_sequences batch = pack(training_, chosen_pairs);
        auto const reference = reference_log_probs(batch, training_, chosen_pairs);
        forward(batch, policy_);

        std::vector<double> d_sequence(batch.size());
        auto const [d_chosen, d_rejected] = prefer::chosen_and_rejected_halves(d_sequence);
        prefer::pair_gradients const gradients{d_chosen, d_rejected};
        auto const summary = with_pairs(
            batch, reference, [&](auto const& pairs) { return loss.evaluate(pairs, gradients); });

        d_token_log_probs_.resize(batch.tokens.size());
        prefer::sequence_sum_backward(d_sequence, batch.layout(), d_token_log_probs_);
        backward_and_step(batch, rate);
        tracker_.after_step(backend_, policy_, reference_);
        return summary;
    }

    /// Loss and metrics over a whole set, which is too large for one batch: the sums add up.
    prefer::pair_summary evaluate(any_loss const& loss, preference_set const& set) {
        prefer::pair_sums sums;
        for (std::size_t first = 0; first < set.pairs.size(); first += evaluation_batch) {
            std::vector<std::size_t> const some = range(first, set.pairs.size());
            packed_sequences batch = pack(set, some);
            auto const reference = reference_log_probs(batch, set, some);
            forward(batch, policy_);
            sums += with_pairs(batch, reference, [&](auto const& pairs) {
                        return loss.evaluate(pairs);
                    }).sums;
        }
        return prefer::summarize(sums);
    }

    /// Nats per token of the chosen responses of a set.
    double chosen_loss(preference_set const& set) {
        double sum = 0;
        std::size_t tokens = 0;
        for (std::size_t first = 0; first < set.pairs.size(); first += evaluation_batch) {
            packed_sequences batch;
            for (std::size_t const i : range(first, set.pairs.size())) {
                batch.add(set.pairs[i].chosen);
            }
            tokens += forward(batch, policy_);
            sum -= prefer::reduce(token_log_probs_, batch.layout(), {prefer::reduction::sum});
        }
        return sum / static_cast<double>(tokens);
    }

    /// Log-probs of any sequences under any parameters.
    std::vector<double> sequence_log_probs(std::vector<sequence> const& sequences,
                                           parameters const& p) {
        std::vector<double> out(sequences.size());
        for (std::size_t first = 0; first < sequences.size();) {
            packed_sequences batch;
            std::size_t last = first;
            while (last < sequences.size() && batch.tokens.size() < scoring_tokens) {
                batch.add(sequences[last++]);
            }
            forward(batch, p);
            prefer::sequence_sum(token_log_probs_, batch.layout(),
                                 prefer::as_vector(out).slice(first, last - first));
            first = last;
        }
        return out;
    }

    void save(prefer::state_writer& out) const {
        put(out, "policy", policy_);
        put(out, "fine_tuned", fine_tuned_);
        put(out, "reference", reference_);
        tracker_.save(out, "tracker");
        optimiser_.save(out);
        supervised_.save(out, "supervised");
        preferences_.save(out, "preferences");
    }

    void load(prefer::state_reader& in) {
        get(in, "policy", policy_);
        get(in, "fine_tuned", fine_tuned_);
        get(in, "reference", reference_);
        tracker_.load(in, "tracker");
        optimiser_.load(in);
        supervised_.load(in, "supervised");
        preferences_.load(in, "preferences");
        if (reference_.size() != 0 && tracker_.frozen()) score_reference();
    }

private:
    static constexpr std::size_t evaluation_batch = 16;
    static constexpr std::size_t scoring_tokens = 8192;

    /// Token log-probs of a batch, into `token_log_probs_`, and what `backward_and_step` needs. The
    /// logits of scored tokens are kept from one to the other; prompts never have any. Returns the
    /// number of scored tokens.
    std::size_t forward(packed_sequences& batch, parameters const& p) {
        std::size_t const scored = batch.make_labels();
        model_.fill_contexts(batch.tokens, batch.offsets, activations_);
        model_.forward(p, activations_, on_);
        token_log_probs_.resize(batch.tokens.size());
        logits_.resize(std::max(logits_.size(), scored * model_.shape().outputs));
        kept_ = prefer::linear_kept<Scalar>(logits_);
        prefer::linear_token_log_probs(backend_, of_batch(activations_.hidden, batch), head(p),
                                       batch.labels, token_log_probs_, kept_);
        return scored;
    }

    /// From `d_token_log_probs_` to the next parameters.
    void backward_and_step(packed_sequences const& batch, double rate) {
        prefer::linear_token_log_probs_backward(
            backend_, of_batch(activations_.hidden, batch), head(policy_), batch.labels,
            d_token_log_probs_, kept_, of_batch(activations_.d_hidden, batch), head(gradient_));
        model_.backward(policy_, activations_, gradient_, on_);
        optimiser_.step(policy_, gradient_, rate);
    }

    /// The batch's rows of a matrix of the model's; those beyond are padding.
    static auto of_batch(matrix<Scalar>& all, packed_sequences const& batch) {
        return prefer::matrix_view(all.data(), batch.tokens.size(),
                                   static_cast<std::size_t>(all.cols()));
    }

    /// The output head in the parameters, or in their gradient. The model has it as [D, V].
    template <class Parameters>
    auto head(Parameters& p) const {
        auto weight = model_.head(p);
        auto bias = model_.head_bias(p);
        return prefer::linear_head(
            prefer::matrix_view(weight.data(), model_.shape().outputs, model_.shape().hidden, 1,
                                static_cast<std::ptrdiff_t>(model_.shape().outputs)),
            prefer::vector_view(bias.data(), model_.shape().outputs));
    }

    /// The chosen responses of some pairs, then their rejected ones.
    static packed_sequences pack(preference_set const& set, std::vector<std::size_t> const& some) {
        packed_sequences batch;
        for (std::size_t const i : some) batch.add(set.pairs[i].chosen);
        for (std::size_t const i : some) batch.add(set.pairs[i].rejected);
        return batch;
    }

    /// The reference's log-probs of a batch, chosen ones first: remembered of a frozen reference,
    /// computed of one that moves.
    std::vector<double> reference_log_probs(packed_sequences& batch, preference_set const& set,
                                            std::vector<std::size_t> const& some) {
        std::vector<double> out;
        if (tracker_.frozen()) {
            for (std::size_t const i : some) out.push_back(set.reference_chosen[i]);
            for (std::size_t const i : some) out.push_back(set.reference_rejected[i]);
        } else {
            forward(batch, reference_);
            out.resize(batch.size());
            prefer::sequence_sum(token_log_probs_, batch.layout(), out);
        }
        return out;
    }

    /// Calls `use` with the pairs of a batch that went through `forward`.
    template <class Use>
    auto with_pairs(packed_sequences const& batch, std::vector<double> const& reference,
                    Use const& use) {
        std::vector<double> log_probs(batch.size());
        std::vector<std::int64_t> lengths(batch.size());
        prefer::sequence_sum(token_log_probs_, batch.layout(), log_probs);
        prefer::sequence_lengths(batch.layout(), lengths);
        auto const [policy_chosen, policy_rejected] = prefer::chosen_and_rejected_halves(log_probs);
        auto const [reference_chosen, reference_rejected] =
            prefer::chosen_and_rejected_halves(reference);
        auto const [length_chosen, length_rejected] = prefer::chosen_and_rejected_halves(lengths);
        return use(
            prefer::pair_batch(policy_chosen, policy_rejected, reference_chosen, reference_rejected)
                .with_lengths(length_chosen, length_rejected));
    }

    /// In the batches of `evaluate`: the same products in the same shapes, so that a policy that
    /// equals its reference has margins of exactly 0 there.
    void score_reference() {
        std::vector<double> log_probs;
        for (preference_set* const set : {&training_, &held_out_}) {
            set->reference_chosen.clear();
            set->reference_rejected.clear();
            for (std::size_t first = 0; first < set->pairs.size(); first += evaluation_batch) {
                packed_sequences batch = pack(*set, range(first, set->pairs.size()));
                forward(batch, reference_);
                log_probs.resize(batch.size());
                prefer::sequence_sum(token_log_probs_, batch.layout(), log_probs);
                auto const [chosen, rejected] = prefer::chosen_and_rejected_halves(log_probs);
                for (std::size_t i = 0; i < chosen.size(); ++i) {
                    set->reference_chosen.push_back(chosen[i]);
                    set->reference_rejected.push_back(rejected[i]);
                }
            }
        }
    }

    static std::vector<std::size_t> range(std::size_t first, std::size_t size) {
        std::vector<std::size_t> out(std::min(evaluation_batch, size - first));
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = first + i;
        return out;
    }

    static void put(prefer::state_writer& out, char const* name, parameters const& p) {
        out.put(name, prefer::vector_view(p.data(), static_cast<std::size_t>(p.size())));
    }

    void get(prefer::state_reader& in, char const* name, parameters& p) const {
        std::vector<Scalar> values;
        in.get(name, values);
        p = Eigen::Map<parameters const>(values.data(), index(values.size()));
    }

    model<Scalar> model_;
    preference_set training_;
    preference_set held_out_;
    trainer_options options_;
    workers on_;
    prefer::backend::eigen backend_;

    parameters policy_;
    parameters fine_tuned_;
    parameters reference_;
    reference_tracker tracker_;
    adam<Scalar> optimiser_;
    minibatches supervised_;
    minibatches preferences_;

    // Kept between steps for their memory.
    typename model<Scalar>::activations activations_;
    std::vector<Scalar> logits_;
    prefer::linear_kept<Scalar> kept_;
    std::vector<Scalar> token_log_probs_;
    std::vector<Scalar> d_token_log_probs_;
    parameters gradient_ = parameters(index(model_.parameter_count()));
};

}  // namespace align
