// SPDX-License-Identifier: MIT
#include "align/report.hpp"

#include "support/atomic_file.hpp"
#include "support/text.hpp"

#include <cmath>
#include <cstdio>
#include <system_error>

#include <sys/wait.h>

namespace align {
namespace {

/// A data block of gnuplot with two columns; what was not measured is left out.
std::string block(std::string const& name, metrics const& measured, bool aligning,
                  metrics::column column) {
    std::string out = "$" + name + " << END\n";
    bool any = false;
    for (auto const& r : measured.rows()) {
        if ((r[metrics::phase] > 0) != aligning || std::isnan(r[column])) continue;
        out += support::shortest(r[metrics::step]) + ' ' + support::shortest(r[column]) + '\n';
        any = true;
    }
    if (!any) out += "NaN NaN\n";
    return out + "END\n";
}

std::string quoted(std::string const& text) {
    std::string out = "'";
    for (char const c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
    return out + "'";
}

std::string script(metrics const& measured, std::filesystem::path const& output) {
    return block("sft_loss", measured, false, metrics::loss) +
           block("sft_held_out", measured, false, metrics::held_out_loss) +
           block("loss", measured, true, metrics::loss) +
           block("held_out_loss", measured, true, metrics::held_out_loss) +
           block("accuracy", measured, true, metrics::accuracy) +
           block("held_out_accuracy", measured, true, metrics::held_out_accuracy) +
           block("chosen", measured, true, metrics::reward_chosen) +
           block("rejected", measured, true, metrics::reward_rejected) +
           "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {\n"
           "  set terminal pngcairo size 1200,800\n"
           "} else {\n"
           "  set terminal png size 1200,800\n"
           "}\n"
           "set output " +
           quoted(output.string()) +
           "\n"
           "set multiplot layout 2,2\n"
           "set key top right\n"
           "set grid\n"
           "set title 'Fine-tuning: nats per token'\n"
           "plot $sft_loss with lines lc rgb '#a0c4e8' title 'batch', \\\n"
           "  $sft_held_out with linespoints lc rgb '#d62728' title 'held out'\n"
           "set title 'Alignment: loss'\n"
           "plot $loss with lines lc rgb '#a0c4e8' title 'batch', \\\n"
           "  $held_out_loss with linespoints lc rgb '#d62728' title 'held out'\n"
           "set key bottom right\n"
           "set title 'Alignment: accuracy'\n"
           "set yrange [0:1.05]\n"
           "plot $accuracy with lines lc rgb '#a0c4e8' title 'batch', \\\n"
           "  $held_out_accuracy with linespoints lc rgb '#d62728' title 'held out'\n"
           "set yrange [*:*]\n"
           "set title 'Alignment: rewards'\n"
           "plot $chosen with lines lc rgb '#2ca02c' title 'chosen', \\\n"
           "  $rejected with lines lc rgb '#ff7f0e' title 'rejected'\n"
           "unset multiplot\n"
           "unset output\n";
}

}  // namespace

std::string draw_curves(metrics const& measured, std::filesystem::path const& png) {
    auto const part = support::part_of(png);
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    std::FILE* const gnuplot = ::popen("gnuplot 2>/dev/null", "w");
    if (gnuplot == nullptr) return "gnuplot could not be started";
    std::string const text = script(measured, part);
    bool const written = std::fwrite(text.data(), 1, text.size(), gnuplot) == text.size();
    int const status = ::pclose(gnuplot);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return "gnuplot is not installed";
    std::uintmax_t const size = std::filesystem::file_size(part, ignored);
    if (!written || status != 0 || ignored || size == 0) {
        std::filesystem::remove(part, ignored);
        return "gnuplot failed";
    }
    support::commit_file(png);
    return "";
}

}  // namespace align
