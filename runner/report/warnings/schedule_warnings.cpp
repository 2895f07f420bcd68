#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <unordered_set>

#include "base/text.hpp"
#include "report/warnings/warnings.hpp"

namespace hpcbench {
namespace {

struct Occupation {
  double start = 0;
  double end = 0;
  std::vector<const AttemptRecord*> attempts;  // several only for a block whose runs are side by side: a note reports that
};

/// Marks both attempts of each overlapping pair. Sorted by start, each is compared with the one that ends last so far: an
/// attempt that overlaps a later one overlaps that one too, so no pair is missed.
void mark_overlaps(std::vector<Occupation>& on_host, std::unordered_set<const AttemptRecord*>& overlapping) {
  std::sort(on_host.begin(), on_host.end(), [](const Occupation& a, const Occupation& b) {
    return a.start != b.start ? a.start < b.start : a.attempts.front()->key < b.attempts.front()->key;
  });
  const Occupation* longest = nullptr;
  for (const Occupation& next : on_host) {
    if (longest != nullptr && next.start < longest->end) {
      overlapping.insert(next.attempts.begin(), next.attempts.end());
      overlapping.insert(longest->attempts.begin(), longest->attempts.end());
    }
    if (longest == nullptr || next.end > longest->end) longest = &next;
  }
}

/// Compares only time stamps of one host with each other.
std::unordered_set<const AttemptRecord*> overlapping_attempts(const std::vector<const AttemptRecord*>& attempts) {
  std::map<std::string, std::vector<Occupation>> hosts;
  std::map<std::pair<std::string, std::string>, std::size_t> packed;  // by host and job
  for (const AttemptRecord* attempt : attempts) {
    if (!attempt->node || !attempt->started_unix_s || !attempt->finished_unix_s) continue;
    for (const std::string& host : split(*attempt->node, ',')) {
      if (host.empty()) continue;
      std::vector<Occupation>& on_host = hosts[host];
      const bool beside = attempt->job && attempt->facts.contains("side_by_side");
      const auto known = beside ? packed.try_emplace({host, *attempt->job}, on_host.size()) : std::pair(packed.end(), true);
      if (known.second) {
        on_host.push_back({*attempt->started_unix_s, *attempt->finished_unix_s, {attempt}});
        continue;
      }
      Occupation& block = on_host[known.first->second];
      block.start = std::min(block.start, *attempt->started_unix_s);
      block.end = std::max(block.end, *attempt->finished_unix_s);
      block.attempts.push_back(attempt);
    }
  }
  std::unordered_set<const AttemptRecord*> overlapping;
  for (auto& [host, occupations] : hosts) mark_overlaps(occupations, overlapping);
  return overlapping;
}

/// Returns first and last start of a row's measured runs, if there are at least two.
std::optional<std::pair<double, double>> span_of_starts(const Sample& sample) {
  std::pair<double, double> span{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
  int count = 0;
  for (const AttemptRecord* run : sample.measured) {
    if (!run->started_unix_s) continue;
    span.first = std::min(span.first, *run->started_unix_s);
    span.second = std::max(span.second, *run->started_unix_s);
    ++count;
  }
  return count >= 2 ? std::optional(span) : std::nullopt;
}

/// The starts of all rows' runs, and the spans of the rows that have one; each in ascending order.
struct Starts {
  std::vector<double> all, firsts, lasts;

  explicit Starts(const std::vector<Sample>& samples) {
    for (const Sample& sample : samples) {
      for (const AttemptRecord* run : sample.measured) {
        if (run->started_unix_s) all.push_back(*run->started_unix_s);
      }
      const auto span = span_of_starts(sample);
      if (!span) continue;
      firsts.push_back(span->first);
      lasts.push_back(span->second);
    }
    for (std::vector<double>* times : {&all, &firsts, &lasts}) std::sort(times->begin(), times->end());
  }
};

/// Without a baseline: returns whether other rows were measured, but none while this one was. Two runs in turn with others may
/// follow each other where blocks meet: within the span of another row this shows nothing.
bool stands_alone(const std::pair<double, double>& span, std::size_t own, const Starts& starts) {
  const auto within = std::upper_bound(starts.all.begin(), starts.all.end(), span.second) -
                      std::lower_bound(starts.all.begin(), starts.all.end(), span.first);
  if (starts.all.size() <= own || static_cast<std::size_t>(within) > own) return false;
  const auto begun = std::upper_bound(starts.firsts.begin(), starts.firsts.end(), span.second) - starts.firsts.begin();
  const auto over = std::lower_bound(starts.lasts.begin(), starts.lasts.end(), span.first) - starts.lasts.begin();
  return own > 2 || begun - over == 1;
}

std::size_t count_started(const Sample& sample) {
  return static_cast<std::size_t>(std::count_if(sample.measured.begin(), sample.measured.end(),
                                                [](const AttemptRecord* run) { return run->started_unix_s.has_value(); }));
}

std::vector<double> values_in_order_of_start(const Sample& sample) {
  std::vector<std::pair<double, double>> timed;
  for (std::size_t i = 0; i < sample.measured.size(); ++i) {
    if (sample.measured[i]->started_unix_s) timed.emplace_back(*sample.measured[i]->started_unix_s, sample.values[i]);
  }
  std::sort(timed.begin(), timed.end());
  std::vector<double> values;
  for (const auto& [start, value] : timed) values.push_back(value);
  return values;
}

}  // namespace

void warn_overlap(const WarningContext& context, Warnings& found) {
  const auto overlapping = overlapping_attempts(context.attempts);
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const auto count = std::count_if(sample->measured.begin(), sample->measured.end(),
                                     [&](const AttemptRecord* run) { return overlapping.count(run) > 0; });
    if (count == 0) continue;
    rows.add(sample->row, [&] {
      return fmt::format("{}: {} of {} runs", row_label(context.columns, sample->row), count, sample->measured.size());
    });
  }
  rows.report("overlap", "runs at the same time on the same node take cores, memory and network from each other",
              {"measure into another --results folder, one run at a time (--slots 1) or on whole nodes (exclusive: true)",
               "state beside the times that they shared nodes"},
              found);
}

/// Compares time stamps of several hosts, because file systems are shared.
void warn_shared_files(const WarningContext& context, Warnings& found) {
  std::map<std::string, std::vector<Occupation>> files;
  for (const AttemptRecord* attempt : context.attempts) {
    const auto outside = attempt->facts.find("outside");
    if (outside == attempt->facts.end() || !attempt->started_unix_s || !attempt->finished_unix_s) continue;
    for (const std::string& file : split(outside->second, ','))
      files[std::string(trim(file))].push_back({*attempt->started_unix_s, *attempt->finished_unix_s, {attempt}});
  }
  std::unordered_set<const AttemptRecord*> sharing;
  for (auto& [file, occupations] : files) mark_overlaps(occupations, sharing);
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const auto count = std::count_if(sample->measured.begin(), sample->measured.end(),
                                     [&](const AttemptRecord* run) { return sharing.contains(run); });
    if (count == 0) continue;
    rows.add(sample->row, [&] {
      return fmt::format("{}: {} of {} runs read a file that another run may have written",
                         row_label(context.columns, sample->row), count, sample->measured.size());
    });
  }
  rows.report("shared-files", "simultaneous runs overwrite a file of one name: one run may have another's values",
              same_advice("set `workdir: attempt`, or let the program write to {{run_dir}}, and measure again"), found);
}

void warn_not_interleaved(const WarningContext& context, Warnings& found) {
  const Starts starts(context.samples);
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const auto span = span_of_starts(*sample);
    if (!span) continue;
    const auto label = [&] { return row_label(context.columns, sample->row); };
    if (const Sample* base = baseline_of(context, *sample)) {
      const auto other = span_of_starts(*base);
      if (!other || (span->first <= other->second && other->first <= span->second)) continue;
      rows.add(sample->row, [&] {
        return fmt::format("{}: all runs {} those of its baseline", label(), span->first > other->second ? "after" : "before");
      });
    } else if (!sample->baseline && stands_alone(*span, count_started(*sample), starts)) {
      rows.add(sample->row,
               [&] { return fmt::format("{}: no other row's run started between its first and its last", label()); });
    }
  }
  rows.report("not-interleaved", "what changed on the machine in between looks like an effect of the configuration",
              {"measure both in turn (`order: interleaved`) into another --results folder: existing results are kept",
               "state in which order they were measured, and claim no small difference"},
              found);
}

void warn_other_nodes(const WarningContext& context, Warnings& found) {
  const auto nodes_text = [&](const Row& row) {
    return fmt::format("{} ({})", counted(static_cast<long long>(row.nodes.size()), "node", "nodes"),
                       list_some({row.nodes.begin(), row.nodes.end()}, context.whole_lists));
  };
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const Sample* base = baseline_of(context, *sample);
    const bool measured = base != nullptr && !base->measured.empty() && !sample->measured.empty();
    if (!measured || !base->row.nodes_of_slurm || !sample->row.nodes_of_slurm) continue;
    const std::set<std::string>& others = base->row.nodes;
    const bool shares = std::any_of(sample->row.nodes.begin(), sample->row.nodes.end(),
                                    [&](const std::string& node) { return others.contains(node); });
    if (shares) continue;
    rows.add(sample->row, [&] {
      return fmt::format("{}: n = {} on {}, its baseline n = {} on {}", row_label(context.columns, sample->row),
                         sample->row.counts.n, nodes_text(sample->row), base->row.counts.n, nodes_text(base->row));
    });
  }
  rows.report("other-nodes", "the row and its baseline share no node: what sets the nodes apart is part of the speedup",
              {"compare within allocations (`allocation: {per: block}`, for several node counts with `shapes: mixed`) into "
               "another --results folder",
               "state on which nodes each ran, and claim no difference that nodes may have"},
              found);
}

void warn_drift(const WarningContext& context, Warnings& found) {
  constexpr std::size_t kFewest = 6;
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const std::vector<double> values = values_in_order_of_start(*sample);
    if (values.size() < kFewest) continue;
    const bool rises = std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
    const bool falls = std::adjacent_find(values.begin(), values.end(), std::less_equal<>()) == values.end();
    if (!rises && !falls) continue;
    rows.add(sample->row, [&] {
      return fmt::format("{}: each of {} runs {} than the one before, from {:.3g} to {:.3g}",
                         row_label(context.columns, sample->row), values.size(), rises ? "higher" : "lower", values.front(),
                         values.back());
    });
  }
  rows.report("drift",
              "the machine changed while it was measured (temperature, a filling disk, other users): runs are not independent",
              {"find the cause, warm up (`warmups`), and measure into another --results folder",
               "look for the cause in their logs, and state it beside the numbers"},
              found);
}

void warn_correlated(const WarningContext& context, Warnings& found) {
  constexpr double kLevel = 0.05;  // over all shown rows
  if (context.experiment.report.looks.empty()) return;
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const double p_value = alike_neighbours_p_value(values_in_order_of_start(*sample));
    if (p_value * static_cast<double>(context.shown.size()) > kLevel) continue;
    rows.add(sample->row, [&] {
      return fmt::format("{}: runs are like those before them (Bartels' test: p = {:.2g})",
                         row_label(context.columns, sample->row), p_value);
    });
  }
  rows.report("correlated", "runs are not independent: intervals cover less than stated, and looks do not change that",
              {"compare by blocks (`report: {paired: true}`), or spread the runs over days; more runs alone do not help",
               "state beside the numbers that runs close in time are alike"},
              found);
}

}  // namespace hpcbench
