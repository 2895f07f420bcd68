#include "base/metric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"

namespace hpcbench {

const std::vector<std::string>& metric_source_keys() {
  static const std::vector<std::string> kKeys = {"pattern", "column", "pointer", "tag", "time", "accounting"};
  return kKeys;
}

bool is_one_of(std::string_view cell, const std::vector<Value>& values) {
  const Value found = Value::from_plain(cell);
  return std::any_of(values.begin(), values.end(), [&](const Value& value) { return value == found || value.text() == cell; });
}

std::string describe_where(const Condition& where) {
  std::vector<std::string> clauses;
  for (const auto& [name, values] : where) {
    std::vector<std::string> texts;
    for (const Value& value : values) texts.push_back(value.text());
    clauses.push_back(name + " is " + join(texts, " or "));
  }
  return join(clauses, ", ");
}

namespace {

/// Units that count steps over the whole problem of a program: under weak scaling each step grows.
constexpr std::array kSteps = {"1",        "it",        "its",   "iter",    "iters", "iteration", "iterations", "step", "steps",
                               "timestep", "timesteps", "batch", "batches", "epoch", "epochs",    "run",        "runs"};
constexpr std::array kRateEndings = {"FLOPS", "bps", "Bps", "IOPS", "LUPS", "GUPS", "TEPS", "fps", "qps"};
/// Words that are counted per second in names such as images_s.
constexpr std::array kCounted = {"kb",      "mb",       "gb",      "tb",       "kib",       "mib",     "gib",    "bytes",
                                 "mbytes",  "gbytes",   "flop",    "flops",    "mflop",     "gflop",   "tflop",  "op",
                                 "ops",     "mop",      "it",      "its",      "req",       "reqs",    "image",  "images",
                                 "imgs",    "sample",   "samples", "token",    "tokens",    "tok",     "frames", "query",
                                 "queries", "requests", "records", "messages", "sequences", "examples"};
/// Statistics behind a unit in a name: tokens_per_s_median.
constexpr std::array kStatistics = {"mean", "median", "avg", "average", "max", "min", "last", "total"};

template <std::size_t kCount>
bool is_word(const std::array<const char*, kCount>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Returns the kind of a unit such as `tokens/s/GPU`, by its words between the slashes.
MetricKind kind_of_unit(const std::string& unit) {
  MetricKind kind;
  const std::string first = unit.substr(0, unit.find('/'));
  bool per_time =
      std::any_of(kRateEndings.begin(), kRateEndings.end(), [&](const char* ending) { return trim(first).ends_with(ending); });
  std::vector<std::string> parts = split(unit, '/');
  for (std::string& part : parts) part = std::string(trim(part));
  const std::string above = lower_case(parts.front());
  const WordOfUnit word_above = word_of_unit(parts.front());
  std::string counted;  // below a time: ms/step
  bool is_counted_time = false;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const WordOfUnit word = word_of_unit(parts[i]);
    if (word.is_wall_time) {
      per_time = true;
    } else if (!word.counted.empty()) {
      kind.per = word.counted;
    } else {
      counted = lower_case(parts[i]);
      is_counted_time = word.is_time;
    }
  }
  if (per_time && counted.empty() && !word_above.is_wall_time) {
    kind.better = Better::higher;
    kind.counts_work = !word_above.is_time && !is_word(kSteps, above);
  } else if (word_above.is_time && !per_time && kind.per.empty()) {
    kind.better = Better::lower;
    kind.counts_work = !counted.empty() && !is_word(kSteps, counted) && !is_counted_time;
  }
  kind.scales = kind.better.has_value();
  return kind;
}

}  // namespace

bool is_gate_word(std::string_view name) {
  constexpr std::array<std::string_view, 6> kWords = {"slower", "faster", "higher", "lower", "missing", "failed"};
  return std::find(kWords.begin(), kWords.end(), name) != kWords.end();
}

std::string unit_in_name(const std::string& name) {
  std::vector<std::string> words = split(lower_case(name), '_');
  while (words.size() > 1 && is_word(kStatistics, words.back())) words.pop_back();
  std::string unit;
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (words[i] == "per") unit += (unit.empty() ? words[i - 1] : "") + "/" + words[i + 1];
  }
  if (!unit.empty() && words[words.size() - 2] == "per") return unit;
  constexpr std::array kSuffixes = {"s", "ms", "us", "ns", "sec", "msec", "usec", "nsec"};
  if (words.size() < 2 || !is_word(kSuffixes, words.back())) return "";
  // `bw_mb_s` and `images_s` may be rates.
  const bool may_be_rate = (words.back() == "s" || words.back() == "sec") && is_word(kCounted, words[words.size() - 2]);
  return may_be_rate ? "" : words.back();
}

std::string to_string(Better better) { return better == Better::lower ? "lower" : "higher"; }

MetricKind kind_of_metric(const std::string& name, const std::string& unit, std::optional<Better> declared) {
  MetricKind kind = kind_of_unit(unit);
  if (!kind.better && unit != "%") {
    const std::string per = kind.per;
    kind = kind_of_unit(unit_in_name(name));
    if (!kind.better && kind.per.empty()) kind.per = per;
  }
  if (!kind.scales && !declared) kind.per.clear();
  if (!declared || declared == kind.better) return kind;
  // A rate with a foreign unit (errors/s) or none: a figure of merit counts as a rate of the whole run, unless it is a share.
  const bool is_figure = declared == Better::higher && !kind.better && unit != "%" && !name.ends_with("_percent");
  return {declared, is_figure, is_figure, is_figure ? kind.per : ""};
}

void write_metric(JsonWriter& json, const Metric& metric, bool names_series) {
  json.begin_object().member("name", metric.name).member("file", metric.file).member(metric.source, metric.selector);
  json.member("unit", metric.unit).key("series");
  names_series ? json.value(metric.series) : json.value(metric.series.has_value());
  if (!metric.index.empty()) json.member("index", metric.index);
  if (metric.take != "last") json.member("take", metric.take);
  if (metric.skip > 0) json.member("skip", metric.skip);
  if (!metric.header.empty()) json.member("header", metric.header);
  if (metric.header_line > 0) json.member("header", metric.header_line);
  if (!metric.rank.empty()) json.member("rank", metric.rank);
  if (!metric.context.empty()) {
    json.key("context").begin_array();
    for (const std::string& context : metric.context) json.value(context);
    json.end();
  }
  if (!metric.absent.empty()) json.member("absent", metric.absent);
  if (metric.decimal != DecimalMark::unknown) json.member("decimal", to_string(metric.decimal));
  if (!metric.where.empty()) {
    json.key("where").begin_object();
    for (const auto& [name, values] : metric.where) {
      json.key(name).begin_array();
      for (const Value& value : values) json.value(JsonText{value.canonical()});
      json.end();
    }
    json.end();
  }
  json.end();
}

void write_json(JsonWriter& json, const FormulaNames& names) {
  json.begin_object().member("parameters", names.parameters).member("derived", names.derived).end();
}

}  // namespace hpcbench
