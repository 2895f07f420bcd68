#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"
#include "report/formats.hpp"
#include "report/table.hpp"

namespace hpcbench {
namespace {

// Written directly: axis values are printed in their own canonical form, which no binary number could keep.

std::string json_real(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }
std::string json_real(const std::optional<double>& value) { return value ? json_real(*value) : "null"; }
std::string json_flag(const std::optional<bool>& flag) { return !flag ? "null" : *flag ? "true" : "false"; }

std::string json_list(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(json_quote(text));
  return "[" + join(quoted, ",") + "]";
}

std::string json_axes(const Bindings& axes) {
  std::vector<std::string> members;
  for (const auto& [name, value] : axes) members.push_back(json_quote(name) + ":" + value.canonical());
  return "{" + join(members, ",") + "}";
}

/// A name with one value has it as it is, one with several as a list.
std::string json_condition(const Condition& condition) {
  if (condition.empty()) return "null";
  std::vector<std::string> members;
  for (const auto& [name, values] : condition) {
    std::vector<std::string> texts;
    for (const Value& value : values) texts.push_back(value.canonical());
    members.push_back(json_quote(name) + ":" + (texts.size() == 1 ? texts.front() : "[" + join(texts, ",") + "]"));
  }
  return "{" + join(members, ",") + "}";
}

std::string json_interval(const std::optional<Interval>& interval) {
  if (!interval) return "null";
  return fmt::format(R"({{"low":{},"high":{},"coverage":{}}})", json_real(interval->low), json_real(interval->high),
                     json_real(interval->coverage));
}

std::string json_summary(const std::optional<Summary>& summary) {
  if (!summary) return R"("median":null,"q1":null,"q3":null,"min":null,"max":null,"interval":null)";
  return fmt::format(R"("median":{},"q1":{},"q3":{},"min":{},"max":{},"interval":{})", json_real(summary->median),
                     json_real(summary->q1), json_real(summary->q3), json_real(summary->min), json_real(summary->max),
                     json_interval(summary->interval));
}

std::string json_speedup(const std::optional<Ratio>& ratio) {
  if (!ratio) return "null";
  const std::string ends = ratio->interval ? fmt::format(R"("low":{},"high":{},"coverage":{})", json_real(ratio->interval->low),
                                                         json_real(ratio->interval->high), json_real(ratio->interval->coverage))
                                           : R"("low":null,"high":null,"coverage":null)";
  return fmt::format(R"({{"value":{},{},"resolved":{}}})", json_real(ratio->value), ends, json_flag(ratio->resolved));
}

/// `succeeded` always, so that nobody must ask whether it is there.
std::string json_outcomes(const std::map<State, int>& outcomes) {
  const auto succeeded = outcomes.find(State::succeeded);
  std::string text = fmt::format(R"({{"succeeded":{})", succeeded == outcomes.end() ? 0 : succeeded->second);
  for (const auto& [state, count] : outcomes) {
    if (state != State::succeeded) text += fmt::format(R"(,"{}":{})", to_string(state), count);
  }
  return text + "}";
}

std::string json_runs(const std::vector<RunValue>& runs) {
  std::string text = "[";
  for (const RunValue& run : runs) {
    text += fmt::format(R"({}{{"run":"{}","attempt":"a{}","outcome":"{}","value":{}}})", text.size() > 1 ? "," : "",
                        to_string(run.run), run.attempt, to_string(run.outcome), json_real(run.value));
  }
  return text + "]";
}

std::string json_row(const Row& row) {
  return fmt::format(R"({{"config_id":{},"axes":{},"gpus":{},"n":{},{},"speedup":{},"ratio_of_medians":{},)",
                     json_quote(row.config_id), json_axes(row.axes), row.gpus, row.n, json_summary(row.summary),
                     json_speedup(row.speedup), json_real(row.ratio_of_medians)) +
         fmt::format(R"("efficiency":{},"karp_flatt":{},"train_loss":{},"validation_loss":{},"outcomes":{},)",
                     json_real(row.efficiency), json_real(row.karp_flatt), json_real(row.train_loss),
                     json_real(row.validation_loss), json_outcomes(row.outcomes)) +
         fmt::format(R"("censored":{},"censored_at_s":{},"speedup_below":{},"is_baseline":{},"warnings":{},"runs":{}}})",
                     row.censored, json_real(row.censored_at_s), json_real(row.speedup_below), row.is_baseline,
                     json_list(row.warnings), json_runs(row.runs));
}

std::string json_warning(const TableWarning& warning) {
  return fmt::format(R"({{"code":{},"rows":{},"seen":{},"why":{},"advice":{}}})", json_quote(warning.code),
                     json_list(warning.rows), json_quote(warning.seen), json_quote(warning.why), json_quote(warning.advice));
}

/// One element a line: what differs between two reports is seen at once.
template <class Element, class Print>
void append_elements(std::string& out, const char* name, const std::vector<Element>& elements, const Print& print) {
  out += fmt::format("  \"{}\": [", name);
  const char* separator = "\n    ";
  for (const Element& element : elements) {
    out += separator + print(element);
    separator = ",\n    ";
  }
  out += elements.empty() ? "]" : "\n  ]";
}

}  // namespace

std::string print_json(const Table& table) {
  std::string out = fmt::format(
      "{{\n  \"schema\": 1,\n  \"experiment\": {},\n  \"description\": {},\n  \"metric\": {},\n  \"unit\": {},\n  "
      "\"confidence\": {},\n"
      "  \"baseline\": {},\n",
      json_quote(table.experiment), json_quote(table.description), json_quote(table.metric), json_quote(table.unit),
      json_real(table.confidence), json_condition(table.baseline));
  append_elements(out, "rows", table.rows, json_row);
  out += ",\n";
  append_elements(out, "warnings", table.warnings, json_warning);
  out += ",\n";
  append_elements(out, "notes", table.notes, [](const std::string& note) { return json_quote(note); });
  return out + "\n}\n";
}

}  // namespace hpcbench
