// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <variant>

#include <prefer/reference/reference.hpp>

namespace align {

/// How the reference follows the policy.
using reference_rule =
    std::variant<prefer::reference::frozen, prefer::reference::soft, prefer::reference::hard>;

/// "frozen", "soft:ALPHA" or "hard:STEPS". Throws `usage_error` for anything else, and the
/// library's `value_error` for numbers out of range.
reference_rule parse_reference_rule(std::string const& text);

/// The tracker of a rule that is known at run time only.
class reference_tracker {
public:
    explicit reference_tracker(reference_rule const& rule)
        : tracker_(std::visit(
              [](auto const& r) { return any_tracker(prefer::reference::tracker(r)); }, rule)) {}

    bool frozen() const { return tracker_.index() == 0; }

    template <class Backend, class Parameters>
    bool after_step(Backend const& on, Parameters const& policy, Parameters& reference) {
        return std::visit([&](auto& t) { return t.after_step(on, policy, reference); }, tracker_);
    }

    void save(prefer::state_writer& out, std::string const& name) const {
        std::visit([&](auto const& t) { t.save(out, name); }, tracker_);
    }
    void load(prefer::state_reader& in, std::string const& name) {
        std::visit([&](auto& t) { t.load(in, name); }, tracker_);
    }

private:
    using any_tracker = std::variant<prefer::reference::tracker<prefer::reference::frozen>,
                                     prefer::reference::tracker<prefer::reference::soft>,
                                     prefer::reference::tracker<prefer::reference::hard>>;
    any_tracker tracker_;
};

}  // namespace align
