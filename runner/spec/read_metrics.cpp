#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <string_view>

#include "base/take.hpp"
#include "base/text.hpp"
#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/placeholders.hpp"

namespace hpcbench {

namespace {

constexpr const char* kMetricForm = "{name: epoch_s, file: \"*.log\", pattern: 'Time: +([0-9.]+)', unit: s}";
constexpr const char* kFormulaForm = "{name: samples_per_s, formula: samples / train_s, unit: samples/s}";

/// What YAML takes for a comment behind a text without quotes, where it looks like the rest of that text: no blank behind `#`.
std::string comment_like_text(const YamlNode& node) {
  static const RE2 kComment("[ \\t]+(#[^ \\t#].*)");
  std::size_t begin = 0;
  const std::string_view line = node.location.source->line_at(node.location.offset, &begin);
  const std::string_view rest = line.substr(node.location.offset - begin);
  std::string comment;
  // A text that goes on in other lines does not stand in this one.
  if (!node.quoted && rest.starts_with(node.text))
    RE2::FullMatch(std::string(rest.substr(node.text.size())), kComment, &comment);
  return comment;
}

/// What is wrong with a selector beside its being a text; and what to write instead.
void check_selector(const YamlNode& node, const Metric& metric, Diagnostics& diagnostics) {
  if (metric.source == "pattern") {
    check_pattern(node, metric.selector, diagnostics);
  } else if (metric.source == "pointer" && !metric.selector.starts_with('/')) {
    diagnostics.add(node.location, fmt::format("{} is no JSON pointer", cite(metric.selector)),
                    "a pointer begins with /: /log_history/*/loss");
  } else if (metric.source == "time") {
    const std::vector<std::string> words = {"real", "user", "sys", "max_rss"};
    if (std::find(words.begin(), words.end(), metric.selector) != words.end()) return;
    diagnostics.add(node.location,
                    fmt::format("`time` prints no {}{}", cite(metric.selector), did_you_mean(metric.selector, words)),
                    "write " + cite_all(words));
  }
}

/// The source is the one of its keys that is there.
void read_source(MapReader& reader, const YamlNode& node, Metric& metric, Diagnostics& diagnostics) {
  int sources = 0;
  for (const std::string& key : metric_source_keys()) {
    const std::optional<std::string> selector = reader.filled_text(key);
    if (!reader.has(key)) continue;
    if (++sources > 1) {
      diagnostics.add(reader.location_of(key),
                      fmt::format("{} stands beside {}: a metric has one source", cite(key), cite(metric.source)),
                      "make two metrics of it");
      continue;
    }
    metric.source = key;
    if (!selector) continue;
    metric.selector = *selector;
    check_selector(*node.find(key), metric, diagnostics);
  }
  if (sources == 0 && node.is_map()) {
    diagnostics.add(node.location, fmt::format("a metric needs one of {}", cite_all(metric_source_keys())),
                    std::string(kMetricForm) +
                        "; values of events or of an import are described by `better`: {name: bw, unit: GB/s, better: higher}");
  }
}

/// Of the sources that have more than the values themselves; false, with a diagnostic, for others.
bool is_of_table(MapReader& reader, const char* key, const Metric& metric, const std::string& advice,
                 Diagnostics& diagnostics) {
  if (metric.source == "column" || metric.source == "pointer") return true;
  diagnostics.add(reader.location_of(key),
                  fmt::format("`{}` is of `pattern`, `column` and `pointer`, not of {}", key, cite(metric.source)), advice);
  return false;
}

/// Each word of `index` is a group of a context.
void check_context_groups(const YamlNode& node, const Metric& metric, Diagnostics& diagnostics) {
  std::vector<std::string> groups;
  for (const std::string& context : metric.context) {
    const RE2 pattern(context, RE2::Options(RE2::Latin1));
    if (!pattern.ok()) return;
    for (const auto& [name, number] : pattern.NamedCapturingGroups()) groups.push_back(name);
  }
  for (const std::string& name : split(metric.index, ' ')) {
    if (std::find(groups.begin(), groups.end(), name) != groups.end()) continue;
    diagnostics.add(node.find("index")->location,
                    fmt::format("`index` names a group of the pattern or of `context`, and none is called {}{}", cite(name),
                                did_you_mean(name, groups)),
                    fmt::format("context: '^# Test: (?P<{}>.*)'", is_identifier(name) ? name : "test"));
  }
}

/// Patterns of earlier lines to which values belong.
void read_rank(MapReader& reader, const YamlNode& node, Metric& metric, Diagnostics& diagnostics) {
  assign(metric.rank, reader.filled_text("rank"));
  if (metric.rank.empty()) return;
  if (metric.source != "pattern") {
    diagnostics.add(reader.location_of("rank"), fmt::format("`rank` is of `pattern`, not of {}", cite(metric.source)),
                    "leave it out");
    return;
  }
  check_pattern(*node.find("rank"), metric.rank, diagnostics);
  const RE2 pattern(metric.rank, RE2::Options(RE2::Latin1));
  if (pattern.ok() && pattern.NumberOfCapturingGroups() != 1)
    diagnostics.add(node.find("rank")->location, "`rank` has one group, the rank", "rank: '^\\[rank(\\d+)\\]'");
}

void read_context(MapReader& reader, Metric& metric, Diagnostics& diagnostics) {
  if (!reader.has("context")) return;
  const YamlNode* node = reader.take("context");
  if (node == nullptr) return;
  if (metric.source != "pattern") {
    diagnostics.add(reader.location_of("context"), fmt::format("`context` is of `pattern`, not of {}", cite(metric.source)),
                    "");
    return;
  }
  if (!reader.has("index") && !reader.has("where")) {
    diagnostics.add(reader.location_of("context"), "`context` has groups for `index` or `where`, and this metric has neither",
                    "add index: test, series: test for context: '^# Test: (?P<test>.*)'");
  }
  if (node->is_list()) {
    for (const YamlNode& item : node->items) {
      const std::optional<std::string> text = read_text(item, "`context`", diagnostics);
      if (text) check_pattern(item, metric.context.emplace_back(*text), diagnostics);
    }
    return;
  }
  const std::optional<std::string> text = read_text(*node, "`context`", diagnostics);
  if (text) check_pattern(*node, metric.context.emplace_back(*text), diagnostics);
}

/// The group of a pattern that numbers its series, beside the one that is the value.
void check_index_group(const YamlNode& node, const Metric& metric, Diagnostics& diagnostics) {
  const RE2 pattern(metric.selector, RE2::Options(RE2::Latin1));
  if (!pattern.ok()) return;
  const std::string form = fmt::format("pattern: '^(?P<{}>\\d+) +([0-9.]+)'", metric.index);
  if (!pattern.NamedCapturingGroups().contains(metric.index) && !metric.context.empty()) {
    check_context_groups(node, metric, diagnostics);
    return;
  }
  if (!pattern.NamedCapturingGroups().contains(metric.index)) {
    diagnostics.add(node.find("index")->location,
                    fmt::format("`index` names a group of the pattern, and it has none called {}", cite(metric.index)), form);
  } else if (pattern.NumberOfCapturingGroups() < 2) {
    diagnostics.add(node.find("pattern")->location, "the pattern has a group for `index` and none for the value", form);
  }
}

void read_index(MapReader& reader, const YamlNode& node, Metric& metric, Diagnostics& diagnostics) {
  assign(metric.index, reader.filled_text("index"));
  if (metric.index.empty()) return;
  if (metric.source == "pattern") check_index_group(node, metric, diagnostics);
  const std::string advice = metric.source == "tag" ? "the steps of the event file number the series" : "";
  if (metric.source != "pattern" && !is_of_table(reader, "index", metric, advice, diagnostics)) return;
  if (!metric.series) {
    diagnostics.add(reader.location_of("index"), "`index` numbers a series, and this is none", "add series: epoch");
  }
}

/// The line on which the data begins: its number, or what it looks like.
void read_header(MapReader& reader, Metric& metric, Diagnostics& diagnostics) {
  if (!reader.has("header")) return;
  const YamlNode* node = reader.take("header");
  const bool is_fit = metric.source == "pattern" || is_of_table(reader, "header", metric, "", diagnostics);
  if (!is_fit || node == nullptr) return;
  const std::optional<Value> header = read_value(*node, "`header`", diagnostics);
  if (!header) return;
  if (!header->is_number()) {
    metric.header = header->text();
    check_pattern(*node, metric.header, diagnostics);
    if (metric.header.empty())
      diagnostics.add(node->location, "`header` is empty", "leave it out where the first line is the heading");
    return;
  }
  constexpr long long kLastLine = 1'000'000'000;
  metric.header_line = header->integer().value_or(0);
  if (metric.header_line >= 1 && metric.header_line <= kLastLine) return;
  diagnostics.add(node->location, fmt::format("`header` is the number of a line, from 1, not {}", cite(header->text())),
                  "or a pattern of that line, in quotes: header: '^Step,'");
}

/// `where` of a pattern names its groups.
void check_where_groups(const YamlNode& node, const Metric& metric, Diagnostics& diagnostics) {
  const RE2 pattern(metric.selector, RE2::Options(RE2::Latin1));
  if (!pattern.ok()) return;
  std::vector<std::string> groups;
  for (const auto& [name, number] : pattern.NamedCapturingGroups()) groups.push_back(name);
  if (!metric.rank.empty()) groups.emplace_back("rank");
  for (const std::string& context : metric.context) {
    const RE2 of_context(context, RE2::Options(RE2::Latin1));
    for (const auto& [name, number] : of_context.NamedCapturingGroups()) groups.push_back(name);
  }
  for (const auto& [name, values] : metric.where) {
    if (std::find(groups.begin(), groups.end(), name) != groups.end()) continue;
    diagnostics.add(node.location,
                    fmt::format("`where` names a group of the pattern or of a `context`, and none is called {}{}", cite(name),
                                did_you_mean(name, groups)),
                    "pattern: '^rank(?P<rank>\\d+): +([0-9.]+)', where: {rank: 0}");
  }
}

/// Which rows, objects or matches count.
void read_where(MapReader& reader, Metric& metric, Diagnostics& diagnostics) {
  if (!reader.has("where")) return;
  const YamlNode* node = reader.take("where");
  const bool is_fit = metric.source == "pattern" || is_of_table(reader, "where", metric, "", diagnostics);
  if (!is_fit || node == nullptr) return;
  const auto where = read_condition(*node, "`where`", true, diagnostics);
  if (!where) return;
  metric.where = where->condition;
  if (metric.source == "pattern") check_where_groups(*node, metric, diagnostics);
  for (std::size_t i = 0; i < metric.where.size(); ++i) {
    for (const Value& value : metric.where[i].second)
      refuse_placeholders(node->items[i], value.text(), "`where`", "give points their own metrics in `overrides`", diagnostics);
  }
}

/// Which of several values of one run counts.
void read_take(MapReader& reader, const YamlNode& node, Metric& metric, Diagnostics& diagnostics) {
  const std::optional<std::string> take = reader.filled_text("take");
  assign(metric.skip, reader.integer("skip"));
  if (take && !parse_take(*take)) {
    const std::vector<std::string> words = {"last", "first", "min", "max", "sum", "count", "mean", "median", "p95"};
    diagnostics.add(node.find("take")->location, fmt::format("`take` knows no {}{}", cite(*take), did_you_mean(*take, words)),
                    "write last, first, min, max, sum, count, mean, median, or a percentile between 0 and 100: p95, p99.9");
    return;
  }
  assign(metric.take, take);
  if (take && metric.source == "accounting") {
    diagnostics.add(reader.location_of("take"), "`take` chooses among several values, and `accounting` gives one",
                    "leave it out");
  } else if (reader.has("skip") && !reader.has("take")) {
    diagnostics.add(reader.location_of("skip"), "`skip` leaves out the first values of `take`, and this metric has none",
                    "add take: median (or mean, min ...); a series keeps all of its values");
  }
}

/// Values of the file that are no values.
void read_absent(MapReader& reader, Metric& metric, Diagnostics& diagnostics) {
  if (!reader.has("absent")) return;
  const YamlNode* node = reader.take("absent");
  if (node == nullptr) return;
  if (metric.source == "accounting" || metric.source == "time") {
    diagnostics.add(reader.location_of("absent"), fmt::format("`absent` is not of {}", cite(metric.source)), "leave it out");
  }
  if (const auto texts = read_texts(*node, "`absent`", diagnostics)) metric.absent = *texts;
}

/// `wall_s` of runs that hpcbench starts is its own clock's: budgets, looks and estimates of time rest on it.
void read_name(MapReader& reader, const YamlNode& node, bool imported, Metric& metric, Diagnostics& diagnostics) {
  assign(metric.name, reader.filled_text("name"));
  if (metric.name == "wall_s" && !imported) {
    diagnostics.add(node.find("name")->location, "`wall_s` is what hpcbench itself measures of every run",
                    "give the program's own time another name: solve_s");
  }
  if (metric.name.empty() || is_identifier(metric.name)) return;
  diagnostics.add(node.find("name")->location, fmt::format("{} cannot be the name of a metric", cite(metric.name)),
                  "a name has letters, digits and _, and does not start with a digit");
}

/// `per: gpus` is of rates of the whole run; else a message.
void check_per(MapReader& reader, const Metric& metric, bool imported, Diagnostics& diagnostics) {
  if (imported) {
    diagnostics.add(reader.location_of("per"), "`per` stands in the experiment's `metrics`, not in an import's",
                    "the rate per GPU is computed for imported runs, too");
    return;
  }
  const MetricKind kind = kind_of_metric(metric.name, metric.unit, metric.better);
  if (!kind.per.empty()) {
    diagnostics.add(reader.location_of("per"),
                    fmt::format("values of {} are already those of one of the {}", cite(metric.name), kind.per),
                    "leave `per` out: speedup and efficiency take account of it");
  } else if (kind.better != Better::higher || !kind.scales) {
    diagnostics.add(reader.location_of("per"),
                    fmt::format("`per: gpus` divides a rate of the whole run, and {} is none by its unit, name or `better`",
                                cite(metric.name)),
                    "write its unit, as in unit: tokens/s; for a figure of merit better: higher; else leave `per` out");
  }
}

void read_metric_unit(MapReader& reader, Metric& metric, Diagnostics& diagnostics) {
  assign(metric.unit, reader.text("unit"));
  if (!metric.unit.empty()) check_unit(reader.location_of("unit"), metric.unit, diagnostics);
}

/// How values compare, and whether they have a rate per GPU beside them.
void read_comparison(MapReader& reader, bool imported, Metric& metric, Diagnostics& diagnostics) {
  metric.better = reader.choice<Better>("better", {{"higher", Better::higher}, {"lower", Better::lower}});
  if (reader.choice<bool>("per", {{"gpus", true}})) check_per(reader, metric, imported, diagnostics);
}

/// The metric that `per: gpus` adds.
Metric rate_per_gpu(const Metric& metric) {
  Metric rate;
  rate.name = metric.name + "_per_gpu";
  rate.source = "formula";
  rate.selector = metric.name + " / gpus";
  rate.unit = metric.unit.empty() ? "" : metric.unit + "/GPU";
  rate.better = metric.better;
  return rate;
}

/// `{name: accuracy, better: higher}`: of values that events or an import give. Nothing is read. Where nothing runs
/// (`only_imports`), `{name: train_s, unit: s}` can mean nothing else.
bool is_description(const YamlNode& node, bool only_imports) {
  const auto has = [&](const char* key) { return node.index_of(key) != YamlNode::npos; };
  if (!node.is_map() || !(only_imports || has("better") || has("per"))) return false;
  const std::vector<std::string> allowed = {"name", "unit", "better", "per"};
  return std::all_of(node.keys.begin(), node.keys.end(),
                     [&](const auto& key) { return std::find(allowed.begin(), allowed.end(), key.name) != allowed.end(); });
}

/// A metric that is computed of others reads no file.
std::optional<Metric> read_formula(const YamlNode& node, bool imported, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.made();
  MapReader reader(node, "metrics", metric_keys(), diagnostics);
  Metric metric;
  if (!reader.has("name")) diagnostics.add(node.location, "a metric needs `name`", kFormulaForm);
  read_name(reader, node, imported, metric, diagnostics);
  read_metric_unit(reader, metric, diagnostics);
  read_comparison(reader, imported, metric, diagnostics);
  metric.source = "formula";
  if (const YamlNode* formula = reader.take("formula")) {
    if (const auto located = LocatedExpression::read(*formula, "`formula`", diagnostics))
      metric.selector = located->expression().text();
  }
  if (imported) {
    diagnostics.add(reader.location_of("formula"), "a formula stands in the experiment's `metrics`, not in an import's",
                    "it is computed for imported runs, too");
  }
  std::vector<std::string> of_files = metric_source_keys();
  of_files.insert(of_files.end(),
                  {"file", "series", "index", "header", "where", "take", "skip", "absent", "decimal", "context", "rank"});
  for (const std::string& key : of_files) {
    if (reader.take(key) == nullptr) continue;
    diagnostics.add(reader.location_of(key), fmt::format("{} is about files, and a formula reads none", cite(key)),
                    "make a metric of it, and name that in the formula");
  }
  reader.finish();
  return diagnostics.made() == before ? std::optional(metric) : std::nullopt;
}

std::optional<Metric> read_description(const YamlNode& node, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.made();
  MapReader reader(node, "metrics", metric_keys(), diagnostics);
  Metric metric;
  if (!reader.has("name")) diagnostics.add(node.location, "a metric needs `name`", "{name: accuracy, better: higher}");
  read_name(reader, node, true, metric, diagnostics);
  read_metric_unit(reader, metric, diagnostics);
  read_comparison(reader, false, metric, diagnostics);
  reader.finish();
  return diagnostics.made() == before ? std::optional(metric) : std::nullopt;
}

std::optional<Metric> read_metric(const YamlNode& node, bool imported, Diagnostics& diagnostics) {
  if (node.is_map() && node.index_of("formula") != YamlNode::npos) return read_formula(node, imported, diagnostics);
  const std::size_t before = diagnostics.made();
  MapReader reader(node, "metrics", metric_keys(), diagnostics);
  Metric metric;
  for (const char* const key : {"name", "file"}) {
    const bool needed = !imported || std::string_view(key) == "name";
    if (node.is_map() && needed && !reader.has(key))
      diagnostics.add(node.location, fmt::format("a metric needs `{}`", key), kMetricForm);
  }
  read_name(reader, node, imported, metric, diagnostics);
  if (imported) metric.file = "*";
  assign(metric.file, reader.filled_text("file"));
  read_source(reader, node, metric, diagnostics);
  read_metric_unit(reader, metric, diagnostics);
  read_comparison(reader, imported, metric, diagnostics);
  metric.series = reader.filled_text("series");
  read_context(reader, metric, diagnostics);
  read_rank(reader, node, metric, diagnostics);
  read_index(reader, node, metric, diagnostics);
  read_header(reader, metric, diagnostics);
  read_where(reader, metric, diagnostics);
  read_take(reader, node, metric, diagnostics);
  read_absent(reader, metric, diagnostics);
  metric.decimal = read_decimal_mark(reader);
  refuse_placeholders_in(node, {"file", "pattern", "column", "pointer", "tag", "index", "header", "context", "rank"}, "metrics",
                         "`file` is a glob: `*/metrics.csv`; or give points their own in `overrides`", diagnostics);
  reader.finish();
  return diagnostics.made() == before ? std::optional(metric) : std::nullopt;
}

}  // namespace

const std::vector<std::string>& measured_metrics() {
  static const std::vector<std::string> kNames = {"wall_s",
                                                  "user_s",
                                                  "sys_s",
                                                  "max_rss_bytes",
                                                  "cpu_percent",
                                                  "rss_peak_bytes",
                                                  "gpu_utilization_percent",
                                                  "energy_wh",
                                                  "energy_wh_per_sample",
                                                  "gpu_memory_peak_bytes",
                                                  "gpu_sm_clock_mhz",
                                                  "gpu_temperature_c",
                                                  "gpu_power_capped_percent",
                                                  "gpu_slowed_percent",
                                                  "gpu_ecc_errors"};
  return kNames;
}

const std::vector<std::string>& trainer_metrics() {
  static const std::vector<std::string> kNames = {"train_s",
                                                  "train_eval_s",
                                                  "setup_s",
                                                  "data_s",
                                                  "eval_s",
                                                  "checkpoint_s",
                                                  "communication_s",
                                                  "communication_exposed_s",
                                                  "communication_hidden_s",
                                                  "bytes_sent",
                                                  "bytes_sent_per_step",
                                                  "socket_bytes_sent",
                                                  "peak_parameter_bytes",
                                                  "peak_gradient_bytes",
                                                  "peak_optimizer_bytes",
                                                  "peak_communication_bytes",
                                                  "peak_activation_bytes",
                                                  "compute_s",
                                                  "compute_max_s",
                                                  "compute_mean_s",
                                                  "imbalance",
                                                  "max_device_bytes",
                                                  "gpu_energy_j",
                                                  "real_s",
                                                  "train_loss",
                                                  "val_loss",
                                                  "epoch_s",
                                                  "accuracy",
                                                  "em",
                                                  "f1",
                                                  "samples",
                                                  "tokens",
                                                  "optimizer_steps"};
  return kNames;
}

void check_pattern(const YamlNode& node, const std::string& pattern, Diagnostics& diagnostics) {
  if (const std::string comment = comment_like_text(node); !comment.empty()) {
    diagnostics.add(node.location, fmt::format("YAML reads {} as a comment: the pattern is {}", cite(comment), cite(pattern)),
                    "put single quotes around the pattern, or a blank behind `#`");
  }
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  const RE2 compiled(pattern, options);
  if (!compiled.ok()) {
    diagnostics.add(node.location, fmt::format("the pattern is no regular expression: {}", compiled.error()),
                    "the syntax is RE2's: no look-ahead, no back references; single quotes keep backslashes as they are");
  }
}

DecimalMark read_decimal_mark(MapReader& reader) {
  return reader.choice<DecimalMark>("decimal", {{"point", DecimalMark::point}, {"comma", DecimalMark::comma}})
      .value_or(DecimalMark::unknown);
}

std::optional<std::vector<Metric>> read_metrics(MapReader& reader, bool imported, Diagnostics& diagnostics,
                                                std::vector<Metric>* described) {
  const YamlNode* node = reader.take("metrics");
  if (node == nullptr || !expect_list(*node, "`metrics`", diagnostics)) return std::nullopt;
  std::vector<Metric> metrics;
  const bool only_imports = reader.has("import") && !reader.has("command") && !reader.has("trainer");
  for (const YamlNode& item : node->items) {
    if (diagnostics.full()) break;
    const bool describes = described != nullptr && is_description(item, only_imports);
    const std::optional<Metric> metric =
        describes ? read_description(item, diagnostics) : read_metric(item, imported, diagnostics);
    if (!metric) continue;
    const auto add = [&](const Metric& added, std::vector<Metric>& list) {
      const auto same = [&](const Metric& other) { return other.name == added.name; };
      if (std::any_of(metrics.begin(), metrics.end(), same) ||
          (described != nullptr && std::any_of(described->begin(), described->end(), same))) {
        diagnostics.add(item.find("name")->location, fmt::format("two metrics are called {}", cite(added.name)));
      }
      list.push_back(added);
    };
    add(*metric, describes ? *described : metrics);
    if (item.index_of("per") != YamlNode::npos) add(rate_per_gpu(*metric), metrics);
  }
  return metrics;
}

}  // namespace hpcbench
