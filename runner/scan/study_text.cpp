#include "scan/study_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "base/glob.hpp"
#include "base/text.hpp"
#include "spec/report_columns.hpp"
#include "yaml/diagnostics.hpp"
#include "yaml/yaml_tree.hpp"

namespace hpcbench {

namespace {

/// A scalar of YAML: plain where that is safe, else in single quotes, in double ones if it holds single ones.
std::string yaml_scalar(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  const bool is_word = !text.empty() && text.find_first_not_of(kPlain) == std::string::npos && text.front() != '-' &&
                       text.front() != '.' && !(text.front() >= '0' && text.front() <= '9');
  const std::string lower = lower_case(text);
  const bool is_special = lower == "null" || lower == "true" || lower == "false" || lower == "yes" || lower == "no" ||
                          lower == "on" || lower == "off" || lower == "nan" || lower == "y" || lower == "n";
  if (is_word && !is_special) return text;
  if (text.find('\'') != std::string::npos || !std::all_of(text.begin(), text.end(), [](char c) { return c >= ' '; }))
    return json_quote(text);
  return '\'' + text + '\'';
}

std::string yaml_where(const Condition& where) {
  std::vector<std::string> clauses;
  for (const auto& [name, values] : where) {
    for (const Value& value : values)
      clauses.push_back(fmt::format("{}: {}", yaml_scalar(name), value.is_number() ? value.text() : yaml_scalar(value.text())));
  }
  return '{' + join(clauses, ", ") + '}';
}

[[noreturn]] void refuse(const SourceLocation& location, const std::string& message, const std::string& advice) {
  throw InputError(located_message(location, message, advice));
}

std::string lines_of(const std::vector<Proposal>& proposals, const std::string& indent, const std::string& line_end) {
  std::string text;
  for (const Proposal& proposal : proposals) {
    text += fmt::format("{0}# {1}: {2}{4}{0}- {3}{4}", indent, printable(proposal.file), describe_values(proposal),
                        metric_yaml(proposal.metric), line_end);
  }
  return text;
}

/// Where lines behind the last item of a block list begin: `begin` is in the line of its key.
std::size_t end_of_block(const std::string& text, std::size_t begin, std::size_t indent) {
  std::size_t end = std::min(text.find('\n', begin), text.size());
  for (std::size_t line = std::min(end + 1, text.size()); line < text.size();) {
    const std::size_t stop = std::min(text.find('\n', line), text.size());
    const std::string_view content = std::string_view(text).substr(line, stop - line);
    const std::size_t first = content.find_first_not_of(" \t\r");
    const bool is_open = first == std::string_view::npos || content[first] == '#';
    const bool is_item = !is_open && (first > indent || (first == indent && content[first] == '-'));
    if (!is_open && !is_item) break;
    if (is_item) end = stop;
    line = stop + 1;
  }
  return end;
}

}  // namespace

std::string metric_yaml(const Metric& metric) {
  std::vector<std::string> parts = {"name: " + metric.name, "file: " + yaml_scalar(metric.file),
                                    fmt::format("{}: {}", metric.source, yaml_scalar(metric.selector))};
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) parts.push_back(fmt::format("{}: {}", key, yaml_scalar(value)));
  };
  add("unit", metric.unit);
  if (!metric.where.empty()) parts.push_back("where: " + yaml_where(metric.where));
  add("header", metric.header);
  add("index", metric.index);
  add("series", metric.series.value_or(""));
  if (!metric.absent.empty()) parts.push_back("absent: [" + join(metric.absent, ", ") + ']');
  if (metric.take != "last") add("take", metric.take);
  if (metric.skip > 0) parts.push_back(fmt::format("skip: {}", metric.skip));
  return '{' + join(parts, ", ") + '}';
}

std::string describe_values(const Proposal& proposal) {
  const MetricMatches& read = proposal.read;
  const auto number = [](std::optional<double> value) { return value ? fmt::format("{}", *value) : std::string("none"); };
  const std::string unit = proposal.unit().empty() ? "" : ' ' + proposal.unit();
  if (read.count == 1) return fmt::format("1 value, {}{}", number(read.value), printable(unit));
  std::string text =
      fmt::format("{} values, first {}, last {}{}", read.count, number(read.first), number(read.last), printable(unit));
  if (proposal.metric.take != "last") {
    text += fmt::format("; {}{}: {}", proposal.metric.take,
                        proposal.metric.skip > 0 ? fmt::format(" without the first {}", proposal.metric.skip) : "",
                        number(read.value));
  }
  return text;
}

std::string with_metrics(const std::string& text, const std::string& file, const std::vector<Proposal>& proposals) {
  const auto source = std::make_shared<const YamlSource>(file, text);
  Diagnostics diagnostics;
  const YamlNode root = parse_yaml(*source, diagnostics);
  diagnostics.throw_if_any();
  const std::string line_end = text.find("\r\n") == std::string::npos ? "\n" : "\r\n";
  if (!root.is_map() || std::string_view(source->text()).substr(root.location.offset).starts_with('{'))
    refuse(root.location, "metrics can only be added to keys that stand in lines of their own", "write each key in a line");
  const YamlNode* metrics = root.find("metrics");
  if (metrics == nullptr) {
    const std::string gap = text.empty() || text.ends_with('\n') ? "" : line_end;
    return text + gap + line_end + "metrics:" + line_end + lines_of(proposals, "  ", line_end);
  }
  const SourceLocation key = root.keys[root.index_of("metrics")].location;
  for (const YamlNode& item : metrics->items) {
    const YamlNode* name = item.find("name");
    for (const Proposal& proposal : proposals) {
      if (name != nullptr && name->text == proposal.metric.name) {
        refuse(name->location, fmt::format("there is a metric {} already", name->text),
               "rename it, or choose others with --metric");
      }
    }
  }
  const std::string& whole = source->text();
  const std::size_t shift = text.size() - whole.size();  // a byte order mark
  std::size_t line_begin = 0;
  const bool is_block =
      metrics->is_list() && !metrics->items.empty() &&
      source->line_at(metrics->items.front().location.offset, &line_begin).find('-') != std::string_view::npos &&
      line_begin > key.offset;
  if (!is_block) {
    refuse(key, "lines can only be added to `metrics` whose entries stand in lines of their own",
           "write each as `- {name: ...}` in its own line");
  }
  const std::size_t indent = whole.find('-', line_begin) - line_begin;
  const std::size_t end = end_of_block(whole, key.offset, indent);
  const std::string added = lines_of(proposals, std::string(indent, ' '), line_end);
  const bool ends_file = end >= whole.size();
  std::string result = text.substr(0, end + shift);
  result += ends_file ? line_end + added : '\n' + added;
  if (!ends_file) result += text.substr(end + shift + 1);
  return result;
}

std::string study_of_logs(const std::string& name, const std::vector<LogOfStudy>& logs,
                          const std::vector<Proposal>& proposals) {
  std::string text = fmt::format(
      "# A table of numbers in logs. Every key is described in docs/experiment-file.md, metrics in docs/sources.md.\n"
      "#   hpcbench report FILE   the table             hpcbench scan LOG --all   other numbers of a log\n"
      "experiment: {}\n\n",
      name);
  std::vector<std::string> labels;
  for (const LogOfStudy& log : logs) labels.push_back(yaml_scalar(log.label));
  text += fmt::format("matrix:                            # what tells the logs apart: nodes, strategy ...\n  log: [{}]\n\n",
                      join(labels, ", "));
  text += "import:                            # paths are relative to this file\n";
  for (std::size_t i = 0; i < logs.size(); ++i)
    text += fmt::format("  - {{files: {}, run: {{log: {}}}}}\n", yaml_scalar(glob_escaped(logs[i].path)), labels[i]);
  text += "\nmetrics:                           # above each: what it gives of the log that was scanned\n";
  text += lines_of(proposals, "  ", "\n");
  std::vector<std::string> columns = {"log", "median"};
  const std::vector<std::string>& other_columns = report_column_names();
  for (std::size_t i = 1; i < proposals.size(); ++i) {
    const std::string& metric = proposals[i].metric.name;
    const bool is_taken =
        metric == "log" || std::find(other_columns.begin(), other_columns.end(), metric) != other_columns.end();
    columns.push_back(is_taken ? "'metric:" + metric + '\'' : metric);
  }
  columns.emplace_back("outcomes");
  return text + fmt::format("\nreport: {{metric: {}, columns: [{}]}}\n", proposals.front().metric.name, join(columns, ", "));
}

}  // namespace hpcbench
