#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/metric.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "recognise/tool_axes.hpp"
#include "recognise/tool_results.hpp"
#include "scan/metric_name.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMostConstants = 30;
constexpr std::size_t kMostMetrics = 40;

/// A number of the results as a metric.
struct NamedNumber {
  std::string name, unit;
  const ToolColumn* column;
};

std::string comment(const std::string& text) { return "# " + printable(text) + '\n'; }

/// Replaces `{from}` in a template of files.
void rename_placeholder(FlowYaml& globs, const std::string& from, const std::string& to) {
  for (FlowYaml& item : globs.items) rename_placeholder(item, from, to);
  const std::string old = '{' + from + '}';
  for (std::size_t at = globs.text.find(old); at != std::string::npos; at = globs.text.find(old, at + to.size() + 2))
    globs.text.replace(at, old.size(), '{' + to + '}');
}

/// How much a number is what a study is about: times and rates of the whole run before those of parts, others last.
int worth(const NamedNumber& number) {
  const MetricKind kind = kind_of_metric(number.name, number.unit, std::nullopt);
  const std::string name = lower_case(number.name);
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  int score = kind.scales ? 100 : kind.better ? 20 : 0;
  if (has("train_runtime") || has("total") || has("wall") || has("to_train") || has("elapsed") || name == "runtime_s" ||
      name == "train_s")
    score += 30;
  if (has("step") || has("iter") || has("throughput") || has("tokens") || has("samples")) score += 20;
  if (has("median")) score += 10;
  if (has("eval") || has("val_") || has("std") || has("min") || has("max") || has("p99") || has("cpu") || has("in_place"))
    score -= 25;
  return score;
}

class StudyWriter {
 public:
  StudyWriter(const ToolResults& results, const std::string& head, const std::string& name)
      : results_(results), head_(head), name_(name) {
    decide_roles(results_);
    axes_ = find_axes(results_);
    name_numbers();
  }

  ToolStudy write() {
    if (results_.runs == 0) throw InputError(fmt::format("error: {} without runs", results_.tool));
    if (numbers_.empty()) throw InputError(fmt::format("error: {}: no run has a number", results_.tool));
    ToolStudy study;
    study.notes = axes_.notes;
    study.notes.insert(study.notes.end(), results_.left_out.begin(), results_.left_out.end());
    study.text = head_ + fmt::format("experiment: {}\n", name_) +
                 fmt::format("description: {}\n\n", written_yaml("results of " + results_.tool));
    study.text += matrix() + facts_comment() + imports() + metrics();
    if (!results_.required.empty()) {
      std::vector<FlowYaml> rules(results_.required.begin(), results_.required.end());
      study.text += fmt::format("success: {{require: {}}}\n", FlowYaml::list(rules).written());
    }
    study.text += '\n' + report();
    if (!study.notes.empty()) study.text += "\n# Left out, or to know:\n";
    for (const std::string& note : study.notes) study.text += comment("- " + note);
    study.summary = summary();
    return study;
  }

 private:
  void name_numbers() {
    std::vector<std::string> used;
    for (const auto& axis : axes_.axes) used.push_back(axis.name);
    for (const ToolColumn& column : results_.columns) {
      const bool has_values =
          std::any_of(column.values.begin(), column.values.end(), [](const std::string& value) { return !value.empty(); });
      if (column.role != ToolColumn::Role::number || !has_values) continue;
      if (numbers_.size() == kMostMetrics) {
        results_.left_out.push_back(fmt::format("numbers beyond the first {}: the next is `{}`", kMostMetrics, column.name));
        break;
      }
      const LabelParts parts = column.unit.empty() ? parse_label(column.name) : LabelParts{};
      const std::string name = name_of_column(parts.unit.empty() ? column.name : metric_name(parts.name, parts.unit), used);
      numbers_.push_back({name, plain_unit(column.unit.empty() ? parts.unit : column.unit), &column});
    }
  }

  std::string matrix() const {
    std::string lone, together;
    for (std::size_t group = 0; group < axes_.groups.size(); ++group) {
      const std::vector<std::size_t>& members = axes_.groups[group];
      if (members.size() == 1) {
        lone += fmt::format("  {}: {}\n", axes_.axes[members.front()].name, list_of(axes_.axes[members.front()].values));
        continue;
      }
      together += "  - ";
      for (std::size_t i = 0; i < members.size(); ++i) {
        std::vector<std::string> values;
        for (const auto& row : axes_.rows[group]) values.push_back(row[i]);
        together += fmt::format("{}{}: {}\n", i == 0 ? "" : "    ", axes_.axes[members[i]].name, list_of(values));
      }
    }
    if (axes_.axes.empty()) {
      return comment("Nothing varies between the runs: they are repeats of one configuration.") +
             "matrix: {results: [all]}\n\n";
    }
    std::string text = "# What varies between the runs.\n";
    if (!lone.empty()) text += "matrix:\n" + lone;
    if (!together.empty()) text += "zip:  # these vary together\n" + together;
    return text + '\n';
  }

  static std::string list_of(const std::vector<std::string>& values) {
    std::vector<FlowYaml> items(values.begin(), values.end());
    return FlowYaml::list(std::move(items)).written();
  }

  std::string facts_comment() const {
    std::vector<std::string> parts;
    for (const auto& [name, value] : axes_.constants) {
      if (parts.size() < kMostConstants) parts.push_back(fmt::format("{}={}", name, value));
    }
    if (parts.empty()) return "";
    const std::size_t more = axes_.constants.size() - parts.size();
    return comment(
        fmt::format("The same in all runs: {}{}", join(parts, ", "), more > 0 ? fmt::format(", and {} more", more) : ""));
  }

  std::string imports() {
    std::string text = "import:\n";
    for (FlowYaml entry : results_.entries) {
      if (results_.is_table) {
        entry.set("columns", columns(entry));
      } else {
        add_sources(entry);
      }
      for (std::size_t i = 0; i < entry.names.size(); ++i)
        text += fmt::format("  {} {}: {}\n", i == 0 ? "-" : " ", entry.names[i], entry.items[i].written());
    }
    return text + '\n';
  }

  FlowYaml columns(const FlowYaml& entry) const {
    const FlowYaml* const own = entry.find("columns");
    FlowYaml columns = own == nullptr ? FlowYaml::map() : *own;
    for (const auto& axis : axes_.axes) columns.set(axis.name, axis.column->source);
    for (const NamedNumber& number : numbers_) columns.set(number.name, number.column->source);
    for (const auto& fact : axes_.facts) columns.set("fact:" + fact.name, fact.column->source);
    return columns;
  }

  /// Parameters that no name in the path gives are read from files of the run.
  void add_sources(FlowYaml& entry) const {
    const FlowYaml* const own = entry.find("run");
    FlowYaml given = own == nullptr ? FlowYaml::map() : *own;
    FlowYaml run = FlowYaml::map();
    FlowYaml facts = FlowYaml::map();
    for (const auto& axis : axes_.axes) {
      if (const FlowYaml* const value = given.find(axis.column->name)) {
        run.set(axis.name, *value);
        given.set(axis.column->name, "");
      } else if (axis.column->source.is_empty()) {
        for (FlowYaml& item : entry.items) rename_placeholder(item, axis.column->name, axis.name);
      } else {
        run.set(axis.name, axis.column->source);
      }
    }
    for (std::size_t i = 0; i < given.names.size(); ++i) {
      if (!given.items[i].is_empty()) facts.set(given.names[i], given.items[i]);
    }
    for (const auto& fact : axes_.facts) {
      if (!fact.column->source.is_empty()) facts.set(fact.name, fact.column->source);
    }
    if (!run.is_empty()) entry.set("run", run);
    if (!facts.is_empty()) entry.set("facts", facts);
  }

  std::string metrics() const {
    std::string text = "metrics:\n";
    for (const NamedNumber& number : numbers_) {
      FlowYaml metric = FlowYaml::map({{"name", number.name}});
      if (!results_.is_table) {
        const FlowYaml& keys = number.column->source;
        for (std::size_t i = 0; i < keys.names.size(); ++i) metric.set(keys.names[i], keys.items[i]);
      }
      if (!number.unit.empty()) metric.set("unit", number.unit);
      if (const std::string better = better_of(number); !better.empty()) metric.set("better", better);
      if (!results_.is_table || metric.names.size() > 1) text += "  - " + metric.written() + '\n';
    }
    return text == "metrics:\n" ? "" : text;
  }

  /// Only where neither the unit nor the name tells hpcbench.
  static std::string better_of(const NamedNumber& number) {
    if (!number.column->better.empty()) return number.column->better;
    if (kind_of_metric(number.name, number.unit, std::nullopt).better) return "";
    const std::string name = lower_case(number.name);
    for (const std::string_view part : {"loss", "perplexity", "error", "latency", "time"}) {
      if (name.find(part) != std::string::npos) return "lower";
    }
    for (const std::string_view part :
         {"accuracy", "acc", "f1", "throughput", "bandwidth", "per_second", "flops", "mfu", "speed", "_bw", "bw_"}) {
      if (name.find(part) != std::string::npos) return "higher";
    }
    return "";
  }

  std::string report() const {
    const auto best = std::max_element(numbers_.begin(), numbers_.end(),
                                       [](const NamedNumber& a, const NamedNumber& b) { return worth(a) < worth(b); });
    std::string text;
    const bool is_list = axes_.axes.empty() || (axes_.axes.size() == 1 && axes_.axes.front().name == "benchmark");
    if (kind_of_metric(best->name, best->unit, std::nullopt).better && !is_list) text = baseline();
    return text + fmt::format("report: {{metric: {}}}\n", best->name);
  }

  /// Returns the first values of the size axes and of the strategy; without these, of the first group.
  std::string baseline() const {
    static const std::set<std::string> kSizes = {"nodes",   "gpus_per_node", "ranks_per_node", "strategy",  "n",
                                                 "threads", "workers",       "cores",          "world_size"};
    FlowYaml point = FlowYaml::map();
    for (const bool is_any : {false, true}) {
      for (std::size_t group = 0; group < axes_.groups.size() && (!is_any || point.is_empty()); ++group) {
        const auto& members = axes_.groups[group];
        for (std::size_t i = 0; i < members.size(); ++i) {
          const std::string& name = axes_.axes[members[i]].name;
          if (is_any || kSizes.contains(name)) point.set(name, axes_.rows[group].front()[i]);
        }
      }
    }
    return fmt::format("baseline: {}  # what speedup is relative to\n", point.written());
  }

  std::string summary() const {
    std::vector<std::string> axes, numbers;
    for (const auto& axis : axes_.axes) axes.push_back(axis.name);
    for (const NamedNumber& number : numbers_) numbers.push_back(number.name);
    constexpr std::size_t kShown = 6;
    const std::size_t more = numbers.size() > kShown ? numbers.size() - kShown : 0;
    numbers.resize(numbers.size() - more);
    return fmt::format("{}: {}; {}; metrics {}{}", results_.tool, counted(static_cast<long long>(results_.runs), "run", "runs"),
                       axes.empty() ? "nothing varies between them" : "axes " + join(axes, ", "), join(numbers, ", "),
                       more > 0 ? fmt::format(" and {} more", more) : "");
  }

  ToolResults results_;
  const std::string& head_;
  const std::string& name_;
  ToolAxes axes_;
  std::vector<NamedNumber> numbers_;
};

}  // namespace

ToolStudy study_of_results(const ToolResults& results, const std::string& head, const std::string& name) {
  return StudyWriter(results, head, name).write();
}

}  // namespace hpcbench
