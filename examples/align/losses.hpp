// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "align/any_loss.hpp"
#include "align/usage_error.hpp"

namespace align {

/// Hyper-parameters by name, as text: "beta" and "0.1".
using parameter_texts = std::vector<std::pair<std::string, std::string>>;

/// A loss by name, with all its hyper-parameters.
struct named_loss {
    std::string name;
    parameter_texts parameters;
    any_loss loss;
};

/// A loss of the library that needs nothing but log-probs, a reference and lengths. Its name is
/// that of the struct, with '-' for '_'; hyper-parameters have the names that `parameters()` lists,
/// enumerators their own; those that are not given keep their defaults. Throws `usage_error` for a
/// name or a text that means nothing and for a hyper-parameter given twice, and the library's
/// `value_error` for a value out of range.
named_loss make_loss(std::string const& name, parameter_texts const& given = {});

std::vector<std::string> loss_names();

/// Lines for the reader: each loss with its hyper-parameters and their defaults.
std::string loss_table();

}  // namespace align
