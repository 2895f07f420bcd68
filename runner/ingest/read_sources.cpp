#include "ingest/read_sources.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/metric_reader.hpp"
#include "ingest/metric_scan.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLongestWords = 300;

/// The weightiest first: a job that is ended for its time is cancelled, too.
constexpr std::array kSlurmStates = {State::timeout, State::preempted, State::node_failure, State::out_of_memory,
                                     State::cancelled};
constexpr const char* kSlurmWords =
    "(?m)^.*(?:(DUE TO TIME LIMIT|^State: TIMEOUT)|(DUE TO PREEMPTION|^State: PREEMPTED)|"
    "(DUE TO NODE FAILURE|NODE FAILURE|^State: NODE_FAIL)|"
    "(oom-kill event|: Out Of Memory|OUT_OF_MEMORY)|(CANCELLED AT |^State: CANCELLED)).*$";

/// Keeps the weightiest words of a text that comes in pieces.
class SlurmWords {
 public:
  SlurmWords() : pattern_(kSlurmWords, latin1()) {}

  void feed(std::string_view text) {
    re2::StringPiece rest(text.data(), text.size());
    std::array<re2::StringPiece, kSlurmStates.size() + 1> groups;
    std::size_t from = 0;
    while (best_ > 0 &&
           pattern_.Match(rest, from, rest.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) {
      for (std::size_t i = 0; i < std::min(best_, kSlurmStates.size()); ++i) {
        if (groups[i + 1].data() == nullptr) continue;
        best_ = i;
        line_ = printable(std::string_view(groups[0].data(), groups[0].size()).substr(0, kLongestWords));
      }
      from = static_cast<std::size_t>(groups[0].data() - rest.data()) + groups[0].size();
    }
  }

  std::optional<Outcome> finish() const {
    if (best_ == kSlurmStates.size()) return std::nullopt;
    return Outcome{kSlurmStates[best_], line_};
  }

 private:
  static RE2::Options latin1() {
    RE2::Options options;
    options.set_encoding(RE2::Options::EncodingLatin1);
    options.set_never_nl(true);
    return options;
  }

  RE2 pattern_;
  std::size_t best_ = kSlurmStates.size();
  std::string line_;
};

bool is_usual_text(std::string_view name) { return find_metric_source("pattern")->is_usual_file(name); }

/// Whether the last folders and the name of a path match a glob: `metrics/*` of /store/17/metrics/loss.
bool ends_as(const std::string& path, const std::string& glob) {
  std::size_t begin = path.size();
  for (auto folders = std::count(glob.begin(), glob.end(), '/'); folders >= 0 && begin > 0; --folders)
    begin = path.rfind('/', begin - 1) == std::string::npos ? 0 : path.rfind('/', begin - 1);
  const std::string end = path.substr(begin > 0 || path.starts_with('/') ? begin + 1 : 0);
  return !path.empty() && ::fnmatch(glob.c_str(), end.c_str(), FNM_PATHNAME) == 0;
}

/// Whether a metric names the file by its folders: it is then no other metric's file.
bool is_named(const SourceFile& file, const std::vector<Metric>& metrics) {
  return std::any_of(metrics.begin(), metrics.end(), [&](const Metric& metric) {
    return metric.file.find('/') != std::string::npos && ends_as(file.origin, metric.file);
  });
}

std::vector<SourceFile> files_of_metric(const std::vector<SourceFile>& all, const Metric& metric,
                                        const std::vector<Metric>& metrics) {
  const std::string glob = metric.file.substr(metric.file.rfind('/') + 1);  // npos + 1 = 0: the whole
  std::vector<SourceFile> chosen;
  if (metric.file.find('/') != std::string::npos) {
    for (const SourceFile& file : all) {
      if (ends_as(file.origin, metric.file)) chosen.push_back(file);
    }
    if (!chosen.empty()) return chosen;
  }
  std::vector<SourceFile> files;
  std::copy_if(all.begin(), all.end(), std::back_inserter(files),
               [&](const SourceFile& file) { return !is_named(file, metrics); });
  if (glob != "*") {
    for (const SourceFile& file : files) {
      if (::fnmatch(glob.c_str(), file.name.c_str(), 0) == 0) chosen.push_back(file);
    }
  }
  if (!chosen.empty()) return chosen;
  const MetricSource* source = find_metric_source(metric.source);
  for (const SourceFile& file : files) {
    if (source != nullptr && !is_attempt_file(file.name) && source->is_usual_file(file.name)) chosen.push_back(file);
  }
  return chosen;
}

void take_metric(const Metric& metric, MetricMatches matches, SourceReading& reading) {
  if (matches.value) {
    reading.values[metric.name] = *matches.value;
    reading.places[metric.name] = matches.place;
    const std::string& unit = metric.unit.empty() ? matches.unit : metric.unit;
    if (!unit.empty()) reading.units[metric.name] = unit;
  }
  if (came_out_nan(matches)) reading.not_finite.push_back(metric.name);
  std::move(matches.series.begin(), matches.series.end(), std::back_inserter(reading.series));
  for (const std::string& warning : matches.warnings)
    reading.warnings.push_back(fmt::format("metric {}: {}", metric.name, warning));
  if (const std::string told = tell_not_finite(matches); !told.empty())
    reading.warnings.push_back(fmt::format("metric {}: {}", metric.name, told));
  if (matches.not_numbers > 0) {
    reading.warnings.push_back(fmt::format("metric {}: {}", metric.name, tell_not_numbers(matches)));
  }
}

void read_source_metric(const Metric& metric, const std::vector<SourceFile>& files, SourceReading& reading) {
  // One writer's scalars may stand in several files; what is not in one of them is no second count.
  if (metric.source == "tag" || metric.take == "count") {
    std::vector<std::string> paths, names;
    for (const SourceFile& file : files) {
      paths.push_back(file.path);
      names.push_back(file.name);
    }
    take_metric(metric, read_metric(metric, paths, names), reading);
    return;
  }
  std::optional<std::string> giver;
  for (const SourceFile& file : files) {
    MetricMatches matches = read_metric(metric, {file.path}, {file.name});
    if (matches.value && giver) {
      reading.conflicts.push_back(fmt::format("{} and {} both give {}", *giver, file.name, metric.name));
      return;
    }
    if (matches.value) giver = file.name;
    take_metric(metric, std::move(matches), reading);
  }
}

}  // namespace

bool is_attempt_file(std::string_view name) {
  const bool events = name.starts_with("events.") && name.ends_with(".jsonl");
  const bool samples = name.starts_with("gpu.") && name.ends_with(".csv");
  if (!events && !samples) return false;
  const std::string_view end = events ? ".jsonl" : ".csv";
  const std::string_view begin = events ? "events" : "gpu";
  const std::string_view middle = name.substr(begin.size(), name.size() - begin.size() - end.size());
  return middle.empty() ||
         (middle.size() > 1 && middle.front() == '.' && middle.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

std::optional<Outcome> find_slurm_words(std::string_view text) {
  SlurmWords words;
  words.feed(text);
  return words.finish();
}

std::optional<std::string> find_invalid_verdict(std::string_view text) {
  static const RE2 kVerdict(
      R"((?mi)^.*(?:\bresult is *: *invalid|\bverification *[:=] *unsuccessful|\b(?:verification|validation) failed\b).*$)");
  re2::StringPiece line;
  if (!kVerdict.Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED, &line, 1)) return std::nullopt;
  return printable(trim({line.data(), std::min(line.size(), kLongestWords)}));
}

std::string tell_invalid(const std::string& file, const std::string& line) {
  return fmt::format(
      "{} has `{}`: the program calls its result invalid; `success: {{pattern: ...}}` names what a good run prints", file,
      line);
}

SourceReading read_sources(const std::vector<SourceFile>& files, const std::vector<Metric>& metrics,
                           const std::optional<std::string>& success_pattern) {
  SourceReading reading;
  for (const Metric& metric : metrics) {
    if (!metric.is_formula()) read_source_metric(metric, files_of_metric(files, metric, metrics), reading);
  }
  SlurmWords words;
  for (const SourceFile& file : files) {
    if (!is_usual_text(file.name)) continue;
    std::optional<std::string> invalid;
    const auto problem = read_lines(file.path, [&](std::string_view piece) {
      words.feed(piece);
      if (!invalid) invalid = find_invalid_verdict(piece);
      return true;
    });
    if (invalid && !success_pattern) reading.warnings.push_back(tell_invalid(file.name, *invalid));
    if (problem) reading.warnings.push_back(fmt::format("{}: {}", file.name, *problem));
    if (success_pattern)
      reading.pattern_found = reading.pattern_found.value_or(false) || file_holds(file.path, *success_pattern).value_or(false);
  }
  reading.said = words.finish();
  return reading;
}

}  // namespace hpcbench
