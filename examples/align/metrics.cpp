// SPDX-License-Identifier: MIT
#include "align/metrics.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <cmath>

namespace align {

std::string metrics::csv() const {
    std::string out;
    for (std::size_t c = 0; c < columns; ++c) {
        if (c != 0) out += ',';
        out += names[c];
    }
    out += '\n';
    for (auto const& r : rows_) {
        out += r[phase] > 0 ? "align" : "sft";
        for (std::size_t c = step; c < columns; ++c) {
            out += ',';
            if (!std::isnan(r.values[c])) out += support::shortest(r.values[c]);
        }
        out += '\n';
    }
    return out;
}

void metrics::save(prefer::state_writer& out) const {
    std::vector<double> all;
    for (auto const& r : rows_) all.insert(all.end(), r.values.begin(), r.values.end());
    out.put("metrics", all);
}

void metrics::load(prefer::state_reader& in) {
    std::vector<double> all;
    in.get("metrics", all);
    if (all.size() % columns != 0) {
        throw prefer::state_error("the checkpoint's metrics have another number of columns");
    }
    rows_.assign(all.size() / columns, row());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(i * columns), columns,
                    rows_[i].values.begin());
    }
}

}  // namespace align
