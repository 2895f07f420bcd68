#include "scan/text_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/units.hpp"
#include "scan/metric_name.hpp"
#include "scan/pattern_text.hpp"

namespace hpcbench {

void Blanks::add(std::string_view blanks) {
  least = std::min(least, blanks.size());
  most = std::max(most, blanks.size());
  has_tab = has_tab || blanks.find('\t') != std::string_view::npos;
}

std::string Blanks::pattern() const {
  if (most == 0) return "";
  if (least == 1 && most == 1 && !has_tab) return " ";
  return (has_tab ? std::string("\\s") : std::string(" ")) + (least == 0 ? "*" : "+");
}

void TextNumber::merge(const TextNumber& other) {
  seen.count += other.seen.count;
  seen.last_line = std::max(seen.last_line, other.seen.last_line);
  seen.first_line = std::min(seen.first_line, other.seen.first_line);
  seen.least = std::min(seen.least, other.seen.least);
  seen.most = std::max(seen.most, other.seen.most);
  seen.has_decimals = seen.has_decimals || other.seen.has_decimals;
  seen.never_falls = false;
  indexed += other.indexed;
  row_labels.insert(other.row_labels.begin(), other.row_labels.end());
  for (const auto& [unit, count] : other.units) units[unit] += count;
  for (const auto& [mine, its] :
       {std::pair(&before_mark, &other.before_mark), std::pair(&behind_mark, &other.behind_mark),
        std::pair(&indent, &other.indent), std::pair(&gap, &other.gap), std::pair(&behind_unit, &other.behind_unit)}) {
    mine->least = std::min(mine->least, its->least);
    mine->most = std::max(mine->most, its->most);
    mine->has_tab = mine->has_tab || its->has_tab;
  }
  ends_token = ends_token && other.ends_token;
  begins_line = begins_line && other.begins_line;
  has_one_before = has_one_before && other.has_one_before && before == other.before;
  is_duration = is_duration || other.is_duration;
  has_comma = has_comma || other.has_comma;
  has_unknown = has_unknown || other.has_unknown;
}

namespace {

std::string unit_of(const TextNumber& number, const std::string& of_label) {
  std::string best;
  long long most = 0;
  for (const auto& [unit, count] : number.units) {
    if (unit.empty() || count <= most) continue;
    best = unit;
    most = count;
  }
  if (best.empty()) best = of_label;
  const bool is_letter = best.size() == 1 && std::string_view("KMGTP").find(best) != std::string_view::npos;
  if (is_letter) return "bytes";
  return other_spelling_of_unit(best).empty() ? plain_unit(best) : "";
}

Candidate candidate_of_label(const TextNumber& number, bool needs_key) {
  const LabelParts parts = parse_label(number.label);
  Metric metric;
  metric.unit = unit_of(number, parts.unit);
  std::string name = needs_key ? parse_label(number.row_key).name : "";
  if (!name.empty() && !parts.name.empty()) name += '_';
  metric.name = metric_name(name + parts.name, metric.unit);
  const std::string group = number.is_duration ? "([0-9.]+)" : number.ends_token ? "(\\S+)" : "([-+0-9.]+)";
  std::string quotes = number.quotes;
  const char first = number.label.front();
  const bool is_member = first == '\'' || first == '"';  // its value may be quoted in other files
  if (is_member && quotes.find(first) == std::string::npos) quotes += first;
  std::string quote = quotes.size() > 1 ? '[' + quotes + ']' : quotes;
  if (!quote.empty() && (is_member || !number.is_quoted)) quote += '?';
  // A number may fill its column: `real time13204.8807`.
  const bool is_glued = number.mark.empty() && number.behind_mark.least == 0 && quotes.empty();
  const std::string named = pattern_literal(number.label) + number.before_mark.pattern() + pattern_literal(number.mark) +
                            (is_glued ? " *" : number.behind_mark.pattern()) + quote;
  const bool begins_word = std::isalnum(static_cast<unsigned char>(number.label.front())) != 0;
  const std::string edge = begins_word ? "\\b" : "";
  const std::string anchor = number.begins_line ? "^" + number.indent.pattern() : edge;
  const std::string key = "^\\s*" + pattern_literal(number.row_key) + " *:.*" + edge;
  Candidate candidate;
  candidate.seen = number.seen;
  const auto add = [&](const std::string& pattern, bool is_indexed) {
    Metric form = metric;
    form.selector = pattern;
    if (is_indexed) form.index = form.series.emplace(number.index);
    candidate.forms.push_back(form);
  };
  const bool is_indexed = number.indexed == number.seen.count && number.seen.count > 1;
  const std::string between = number.is_index_first ? ".*?" : ".*";
  if (is_indexed && number.is_index_first) {
    if (needs_key)
      add("^\\s*" + pattern_literal(number.row_key) + " *:.*" + number.index_pattern + between + edge + named + group, true);
    if (!needs_key) add(number.index_pattern + between + edge + named + group, true);
    if (number.has_one_before && !number.begins_line)
      add(number.index_pattern + between + pattern_literal(number.before) + named + group, true);
  } else if (is_indexed && !number.has_comma && !number.is_duration) {
    add(anchor + named + "([-+0-9.eE]+)" + between + number.index_pattern, true);
  }
  if (needs_key) add(key + named + group, false);
  if (!needs_key) add(anchor + named + group, false);
  if (number.has_one_before && !number.begins_line && !needs_key) add(pattern_literal(number.before) + named + group, false);
  if (!number.row_key.empty() && !needs_key) add(key + named + group, false);
  return candidate;
}

Candidate candidate_of_unit(const TextNumber& number, bool needs_key) {
  const LabelParts parts = parse_label(number.right);
  Metric metric;
  metric.unit = unit_of(number, parts.unit);
  std::string name = parts.name;
  if ((needs_key || name.empty()) && !number.row_key.empty())
    name = parse_label(number.row_key).name + (name.empty() ? "" : '_' + name);
  metric.name = metric_name(name, metric.unit);
  std::string behind = number.gap.pattern() + pattern_literal(number.unit_text);
  if (!number.right.empty()) behind += number.behind_unit.pattern() + pattern_literal(number.right);
  // No word continues the unit.
  if (std::isalnum(static_cast<unsigned char>(behind.back())) != 0) behind += "\\b";
  Candidate candidate;
  candidate.seen = number.seen;
  const std::string key = number.row_key.empty() ? "" : "^\\s*" + pattern_literal(number.row_key) + " *:.*?";
  const std::string begin = needs_key ? key : "";
  std::vector<std::string> groups = {"(\\S+)", "([-+0-9.,eE]+)"};
  if (number.gap.most == 0) groups = {"([-+0-9.,eE]+)"};
  if (number.is_duration) groups = {"([0-9][0-9dhms:. -]*?)"};
  const bool is_indexed = number.indexed == number.seen.count && number.seen.count > 1 && number.is_index_first;
  for (const std::string& group : groups) {
    Metric form = metric;
    form.selector = number.index_pattern + ".*?" + group + behind;
    form.index = number.index;
    form.series = number.index;
    if (is_indexed && !needs_key) candidate.forms.push_back(form);
  }
  for (const std::string& group : groups) {
    Metric form = metric;
    form.selector = begin + group + behind;
    candidate.forms.push_back(form);
    form.selector = key + group + behind;
    if (begin.empty() && !key.empty()) candidate.forms.push_back(form);
  }
  return candidate;
}

Candidate candidate_of_cell(const TextNumber& number) {
  LabelParts parts = parse_label(number.label);
  std::string unit = unit_of(number, parts.unit);
  const bool is_plain = number.kind == TextNumber::Kind::plain;
  const bool has_key = number.has_row_label && number.row_labels.size() == 1;
  Metric metric;
  metric.unit = unit;
  const std::string key_name = has_key ? parse_label(number.row_key).name : "";
  metric.name = metric_name(key_name.empty() ? parts.name : key_name + (parts.name.empty() ? "" : '_' + parts.name), unit);
  std::string pattern = "^\\s*";
  std::size_t skipped = 0;  // columns that the pattern does not name yet
  const auto skip_columns = [&](const char* one, const char* form) {
    if (skipped > 2) {
      pattern += fmt::format(fmt::runtime(form), skipped);
    } else {
      for (std::size_t i = 0; i < skipped; ++i) pattern += one;
    }
    skipped = 0;
  };
  const std::string series = index_name(parse_label(number.index).name);
  for (std::size_t i = 0; i < number.header.size(); ++i) {
    const bool is_index = i == 0 && number.column != 0 && !is_plain && (number.has_index || (number.has_row_label && !has_key));
    if (i == number.column) {
      skip_columns("\\S+\\s+", "(?:\\S+\\s+){{{}}}");
      pattern += "(\\S+)";
    } else if (is_index) {
      metric.index = parse_label(number.index).name.empty() ? "row" : parse_label(number.index).name;
      metric.series = number.has_row_label && (series == "step" || series == "epoch") ? metric.index + "_word" : metric.index;
      pattern += "(?P<" + metric.index + ">" + (number.has_index ? "[0-9]+" : "\\S.*?") + ")\\s+";
    } else if (i == 0 && has_key) {
      pattern += pattern_literal(number.row_key) + "\\s*:?\\s+";
    } else {
      ++skipped;
    }
  }
  skip_columns("\\s+\\S+", "(?:\\s+\\S+){{{}}}");
  metric.selector = pattern + "\\s*$";
  Candidate candidate;
  candidate.forms = {metric};
  candidate.seen = number.seen;
  candidate.is_labelled = !is_plain;
  return candidate;
}

}  // namespace

Candidate candidate_of(const TextNumber& number, bool needs_key) {
  if (number.kind == TextNumber::Kind::label) return candidate_of_label(number, needs_key);
  return number.kind == TextNumber::Kind::unit ? candidate_of_unit(number, needs_key) : candidate_of_cell(number);
}

}  // namespace hpcbench
