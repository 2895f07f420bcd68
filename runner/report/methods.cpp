#include "report/methods.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "report/cells.hpp"

namespace hpcbench {
namespace {

std::string plural(std::size_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

/// Returns `n = 6` or `n = 3 to 6`, over the rows with a value.
std::string range_of_n(const Table& table) {
  int least = 0;
  int most = 0;
  for (const Row& row : table.rows) {
    if (row.counts.n == 0) continue;
    least = least == 0 ? row.counts.n : std::min(least, row.counts.n);
    most = std::max(most, row.counts.n);
  }
  if (most == 0) return "no run has a value yet";
  return least == most ? fmt::format("n = {}", most) : fmt::format("n = {} to {}", least, most);
}

/// Returns whether all planned runs of each configuration have ended.
bool all_ran(const Table& table, int planned) {
  return std::all_of(table.rows.begin(), table.rows.end(),
                     [&](const Row& row) { return row.counts.outcomes.ended() >= planned; });
}

std::string describe_repeats(const Table& table, const WarningContext& context) {
  std::size_t imported = 0;
  for (const Row& row : table.rows) imported += row.source == "measured" ? 0 : 1;
  const std::vector<int>& looks = table.looks;
  const std::string often = context.planned_repeats == 1 ? "once" : fmt::format("{} times", context.planned_repeats);
  std::string text =
      !looks.empty() ? fmt::format(
                           "Each of {} was run as independent jobs in blocks ({}), to be ended at a look once its interval was "
                           "narrow enough; looks were fixed beforehand at {} runs",
                           plural(table.rows.size(), "configuration"), range_of_n(table), fmt::join(looks, ", "))
      : imported == table.rows.size()
          ? fmt::format("The results of {} were taken over from elsewhere ({})", plural(table.rows.size(), "configuration"),
                        range_of_n(table))
          : fmt::format("Each of {} was {} {} as independent jobs ({})", plural(table.rows.size(), "configuration"),
                        all_ran(table, context.planned_repeats) ? "run" : "to be run", often, range_of_n(table));
  if (imported > 0 && imported < table.rows.size()) text += fmt::format("; {} of them hold imported results", imported);
  if (context.experiment.warmups_run() > 0) {
    text += fmt::format(", each after {} that do not count",
                        plural(static_cast<std::size_t>(context.experiment.warmups_run()), "warm-up run"));
  }
  return text + ".";
}

std::string describe_outcomes(const Table& table) {
  StateCounts outcomes;
  for (const Row& row : table.rows) {
    for (const auto& [state, count] : row.counts.outcomes) outcomes[state] += count;
  }
  if (outcomes.all() == outcomes.of(State::succeeded)) return "";
  return fmt::format(" Not all runs succeeded: {}; they are rows or outcomes of the table.", outcomes.text(State::succeeded));
}

/// Returns whether start times can show an order: at least two rows have several runs with one.
bool order_is_visible(const Table& table) {
  const auto started = [](const RunValue& run) { return run.value && run.started_unix_s; };
  return std::count_if(table.rows.begin(), table.rows.end(),
                       [&](const Row& row) { return std::count_if(row.runs.begin(), row.runs.end(), started) >= 2; }) >= 2;
}

}  // namespace

std::string describe_set_aside(const Table& table) {
  std::map<std::string, int> by_why;
  int all = 0;
  for (const Row& row : table.rows) {
    for (const RunValue& run : row.set_aside) {
      ++by_why[run.reason];
      ++all;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [why, count] : by_why) parts.push_back(fmt::format("{} ({})", why, count));
  if (parts.empty()) return "";
  return fmt::format("{} set aside and count{} in nothing: {}", counted(all, "measurement was", "measurements were"),
                     all == 1 ? "s" : "", join(parts, ", "));
}

namespace {

std::string describe_order(const Table& table, const WarningContext& context) {
  const auto measured = [](const Row& row) { return row.source != "imported" && row.counts.n > 0; };
  const auto count = std::count_if(table.rows.begin(), table.rows.end(), measured);
  if (count == 0) return "";
  std::string text;
  if (count > 1) {
    const bool blocks = context.experiment.order == Order::interleaved;
    const bool once = std::all_of(table.rows.begin(), table.rows.end(), [](const Row& row) { return row.counts.n <= 1; });
    text = !blocks ? " Runs were requested one configuration after the other"
           : once  ? " Runs were requested once each, in a random order"
                  : " Runs were requested in randomised complete blocks (every configuration once, in a new order, then again)";
    text += once                       ? "; without repeats, what the hour did cannot be told from what the configuration did."
            : !order_is_visible(table) ? "; too few of them have start times to show in which order they ran."
            : has_warning(table, "not-interleaved") ? "; by their start times some rows are not interleaved."
                                                    : "; their start times show them interleaved.";
  }
  if (has_warning(table, "overlap")) text += " Some ran at the same time on the same node.";
  return text;
}

std::string describe_machine(const Table& table, bool whole_lists) {
  std::string text;
  for (const ProvenanceRow& row : table.provenance) {
    if (row.name == "note" || row.name == "source" || row.name == "seed") continue;
    if (row.name.starts_with("code") || row.name.starts_with("program:")) continue;
    const std::size_t shown = whole_lists ? row.values.size() : std::min<std::size_t>(row.values.size(), 3);
    text += fmt::format(
        "{}{} {}{}", text.empty() ? " What ran: " : "; ", row.name,
        join(std::vector<std::string>(row.values.begin(), row.values.begin() + static_cast<std::ptrdiff_t>(shown)), ", "),
        row.values.size() > shown ? fmt::format(" and {} more", row.values.size() - shown) : "");
  }
  return text.empty() ? text : text + ".";
}

std::string describe_statistics(const Table& table, const WarningContext& context) {
  const std::string word = value_word(table);
  if (word != "median" && word != "value") {
    return fmt::format(" Reported are published values (the {} of n runs), without intervals{}.", word,
                       table.has_speedup ? "; speedups are ratios of these" : "");
  }
  const std::string percent = fmt::format("{:g} %", 100 * table.confidence);
  std::string text = fmt::format(
      " Reported are medians over runs with exact intervals from order statistics, the narrowest that reach {} (achieved "
      "coverage is printed); no distribution is assumed. Outliers are flagged and kept{}",
      percent,
      table.inner ? fmt::format(". Each run gives a value for each {0}, that at {0} = {1} stands for it, and each interval of "
                                "the table by {0} is of one {0} alone.",
                                table.inner->name, table.inner->at.text())
      : context.metric.is_of_part ? "; runs that hit their time limit have no value, as the metric is of a part of a run."
                                  : "; runs that hit their time limit count as longer than it.");
  if (!table.looks.empty()) {
    text += fmt::format(
        " Intervals are repeated confidence intervals (Jennison and Turnbull 1989) with one level a look (Pocock 1977): those "
        "of "
        "all {} looks hold together with {}.",
        table.looks.size(), percent);
  }
  if (!table.has_speedup) return text;
  text +=
      table.paired
          ? " Speedups are the Hodges-Lehmann estimates of the log ratios of complete blocks, with exact signed-rank intervals"
          : " Speedups are the Hodges-Lehmann estimates of the log ratios to the baseline, with exact rank-sum intervals";
  const auto published = [](const Row& row) { return !row.statistic.empty(); };
  if (std::any_of(table.rows.begin(), table.rows.end(), published))
    text += "; those of published statistics are ratios of these, without an interval";
  return text + ". Each interval is of its row alone.";
}

}  // namespace

bool has_warning(const Table& table, std::string_view code) {
  return std::any_of(table.warnings.begin(), table.warnings.end(), [&](const auto& warning) { return warning.code == code; });
}

std::string describe_clock(const std::string& metric, const Experiment& experiment) {
  if (metric == "train_s" && experiment.is_trainer()) {
    return "`train_s` is monotonic time from a barrier and device synchronisation before the first batch to the device "
           "synchronisation after the last step, less evaluation and checkpoints, the longest of all ranks";
  }
  if (metric == "wall_s")
    return "`wall_s` is the launcher's monotonic time from the start of the first process to the end of the last";
  return "";
}

namespace {

/// Returns how values were measured; for imported values this is unknown.
std::string describe_source(const Table& table, const WarningContext& context) {
  const auto is = [&](const char* source) {
    return std::any_of(table.rows.begin(), table.rows.end(),
                       [&](const Row& row) { return row.counts.n > 0 && row.source == source; });
  };
  const bool has_imported = is("imported") || is("measured, imported");
  const bool has_measured = is("measured") || is("measured, imported") || !has_imported;
  const std::string clock = describe_clock(table.metric, context.experiment);
  std::string text;
  if (has_measured) {
    text = clock.empty() ? fmt::format(" `{}` is what the programs themselves wrote.", table.metric) : " " + clock + ".";
  }
  if (has_imported) text += fmt::format(" Imported values of `{}` were not measured by hpcbench.", table.metric);
  return text;
}

}  // namespace

void describe_methods(Table& table, const WarningContext& context) {
  const std::string aside = describe_set_aside(table);
  table.methods = describe_repeats(table, context) + describe_outcomes(table) + (aside.empty() ? "" : " " + aside + ".") +
                  describe_order(table, context) + describe_source(table, context) + describe_statistics(table, context) +
                  describe_machine(table, context.whole_lists);
  table.rules = judge_rules(table, context);
}

}  // namespace hpcbench
