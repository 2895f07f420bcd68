#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "report/warnings/warnings.hpp"

namespace hpcbench {
namespace {

constexpr std::string_view kPublished = "published_";
constexpr double kRankTolerance = 0.05;

/// How many decimals a number was printed with.
int decimals_of(const std::string& printed) {
  const std::size_t point = printed.find('.');
  return static_cast<int>(point == std::string::npos ? 0 : printed.size() - point - 1);
}

/// Whether a number that somebody printed is that value, rounded or cut to the decimals it was printed with.
bool is_shortened(const std::string& printed, double value) {
  const auto number = Value::from_plain(printed).number();
  if (!number) return true;  // not a number: nothing to compare
  return std::abs(*number - value) < std::pow(10.0, -decimals_of(printed));
}

/// `METRIC published as 5108.80, but its own log says 4108.80`, for all that differ.
std::vector<std::string> published_differences(const Sample& sample) {
  const std::string published(kPublished);
  std::vector<std::string> differences;
  for (const AttemptRecord* run : sample.runs) {
    const auto first = run->facts.lower_bound(published);
    for (auto fact = first; fact != run->facts.end() && fact->first.starts_with(kPublished); ++fact) {
      const std::string metric = fact->first.substr(kPublished.size());
      const auto value = run->metrics.find(metric);
      if (value == run->metrics.end() || is_shortened(fact->second, value->second)) continue;
      differences.push_back(fmt::format("{} published as {}, but its own log says {:.{}f}", metric, fact->second, value->second,
                                        decimals_of(fact->second)));
    }
  }
  return differences;
}

std::vector<double> rank_times(const Sample& sample) {
  std::vector<double> times;
  for (const RankTimes& rank : sample.row.ranks) {
    if (rank.real_s) times.push_back(*rank.real_s);
  }
  return times;
}

std::string count_of(double value) { return fmt::format("{:.0f}", value); }

/// What is odd about processes that share no group; empty if nothing is.
std::string describe_same_work(const WarningContext& context, const Sample& sample) {
  std::optional<double> processes = number_fact(sample, "processes");
  if (!processes) processes = number_fact(sample, "world_size");
  const auto batches = number_fact(sample, "batches_per_rank");
  const std::string* group = find_fact(sample, "process_group");
  if (!processes || *processes < 2 || !batches) return "";
  const Sample* base = baseline_of(context, sample);
  const auto of_baseline = base == nullptr ? std::nullopt : number_fact(*base, "batches_per_rank");
  constexpr double kUndivided = 0.9;  // of the baseline's batches in each process: nobody divided them
  const bool undivided = of_baseline && *batches >= kUndivided * *of_baseline;
  if (!undivided && (group == nullptr || *group != "none")) return "";
  std::string text = fmt::format("{}: {} processes{}, {} batches each", row_label(context.columns, sample.row),
                                 count_of(*processes), undivided ? "" : " without a process group", count_of(*batches));
  if (of_baseline) {
    text += fmt::format(" ({} together, {} in its baseline)", count_of(*processes * *batches), count_of(*of_baseline));
  }
  return text;
}

/// Whether a host of each of so many nodes is among those that the runs name.
bool names_hosts(const Sample& sample, double nodes) {
  return std::all_of(sample.measured.begin(), sample.measured.end(), [&](const AttemptRecord* run) {
    return static_cast<double>(split(run->node.value_or(""), ',').size()) >= nodes;
  });
}

/// Where the axis ranks_per_node counts them.
std::optional<double> asked_ranks(const Sample& sample) {
  const Value* nodes = find_binding(sample.row.axes, "nodes");
  const Value* ranks = find_binding(sample.row.axes, kRanksPerNode);
  if (nodes == nullptr || ranks == nullptr || !nodes->number() || !ranks->number()) return std::nullopt;
  return *nodes->number() * *ranks->number();
}

/// How fewer or more gpus worked than the row says; empty if they did not, or nobody can know.
std::string describe_gpus_mismatch(const Sample& sample, bool has_gpus) {
  // A process may use several gpus (dp), so a program of ours that names its gpus is believed.
  const auto used = is_imported(sample) || asked_ranks(sample) ? std::nullopt : number_fact(sample, "gpus");
  const auto ran = used ? used : number_fact(sample, "world_size");
  const auto ranks = asked_ranks(sample);
  const double claimed = number_fact(sample, "claimed_gpus").value_or(ranks.value_or(sample.row.gpus));
  const bool claims_nodes = !ranks && !has_gpus;  // and any number of processes on each
  const char* const what = ranks ? "ranks" : claims_nodes ? "nodes" : "gpus";
  if (ran && *ran != claimed && !claims_nodes)
    return fmt::format("{} {} claimed, {} {}", count_of(claimed), what, count_of(*ran), used ? "used" : "ranks ran");
  const auto nodes = number_fact(sample, "launched_once_on_nodes");
  if (ran || !nodes || names_hosts(sample, *nodes)) return "";
  return fmt::format(
      "{} {} claimed, but `launch: once` started one process on one of {} nodes, and nothing shows that it started others",
      count_of(claimed), what, count_of(*nodes));
}

}  // namespace

void warn_published_mismatch(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const std::vector<std::string> differences = published_differences(*sample);
    if (differences.empty()) continue;
    rows.add(sample->row, [&] {
      return fmt::format("{}: {}", row_label(context.columns, sample->row), list_some(differences, context.whole_lists));
    });
  }
  rows.report("published-mismatch", "a figure that its own log does not bear out moves all that is computed from it",
              same_advice("report what the log says, and correct the published table"), found);
}

void warn_equal_lines(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    if (!sample->row.facts.contains("equal_lines")) continue;
    std::vector<std::string> groups;
    for (const AttemptRecord* run : sample->runs) {
      const auto fact = run->facts.find("equal_lines");
      if (fact == run->facts.end() || std::find(groups.begin(), groups.end(), fact->second) != groups.end()) continue;
      groups.push_back(fact->second);
    }
    if (groups.empty()) continue;
    rows.add(sample->row,
             [&] { return fmt::format("{}: equal are {}", row_label(context.columns, sample->row), join(groups, "; ")); });
  }
  rows.report(
      "equal-lines",
      "equal lines of a table count as runs of their own, as rounded values may be equal; if one run was entered twice, n "
      "is too large and the interval too narrow",
      same_advice("give the table a column `id` with a name for each run: lines with one id are one run"), found);
}

void warn_gpus_mismatch(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const std::string seen = describe_gpus_mismatch(*sample, context.experiment.has_gpus);
    if (!seen.empty()) rows.add(sample->row, [&] { return row_label(context.columns, sample->row) + ": " + seen; });
  }
  const std::string size = context.experiment.has_gpus ? "gpus" : "ranks";
  rows.report(size + "-mismatch", fmt::format("speedup and efficiency are of as many {} as really worked", size),
              same_advice(fmt::format("count the ranks of the log; correct the number of {}", size)), found);
}

void warn_same_work(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const std::string seen = describe_same_work(context, *sample);
    if (!seen.empty()) rows.add(sample->row, [&] { return seen; });
  }
  rows.report("same-work",
              "processes that know nothing of each other either do the same work over or train separate models: "
              "no time of theirs is that of one training divided among them",
              {"start them with a launcher that makes one process group, and compare samples and losses with the baseline's",
               "report no speedup of them; compare samples and losses with the baseline's"},
              found);
}

void warn_ranks_disagree(const WarningContext& context, Warnings& found) {
  if (!context.metric.is_time) return;
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const std::vector<double> times = rank_times(*sample);
    if (times.empty() || !sample->row.summary || !is_imported(*sample)) continue;
    const double slowest = *std::max_element(times.begin(), times.end());
    const double total = sample->row.summary->median;
    if (std::abs(total - slowest) <= kRankTolerance * total) continue;
    rows.add(sample->row, [&] {
      return fmt::format("{}: {:g} s in all, but its slowest rank took {:g} s", row_label(context.columns, sample->row), total,
                         slowest);
    });
  }
  rows.report("ranks-disagree", "a run lasts as long as its slowest rank: one of the two is not the time of this run",
              same_advice("say what the total holds that the ranks do not (set-up, downloads), and compare like with like"),
              found);
}

}  // namespace hpcbench
