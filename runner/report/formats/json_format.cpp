#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "plan/json_text.hpp"
#include "report/formats/formats.hpp"
#include "report/table.hpp"

namespace hpcbench {
namespace {

// Written directly: axis values are printed in their own canonical form, which no binary number could keep.

std::string json_flag(const std::optional<bool>& flag) { return !flag ? "null" : *flag ? "true" : "false"; }

std::string json_whole(const std::optional<long long>& value) { return value ? fmt::format("{}", *value) : "null"; }
std::string json_text(const std::string& text) { return text.empty() ? "null" : json_quote(text); }

template <class Element, class Print>
std::string json_items(const std::vector<Element>& elements, const Print& print) {
  std::string text = "[";
  for (const Element& element : elements) text += (text.size() > 1 ? "," : "") + print(element);
  return text + "]";
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
  return fmt::format(R"({{"low":{},"high":{},"coverage":{}}})", json_number(interval->low), json_number(interval->high),
                     json_number(interval->coverage));
}

/// Of a published median nothing else is known.
std::string json_summary(const Row& row) {
  const std::string median =
      fmt::format(R"("median":{},)", json_number(row.summary ? std::optional(row.summary->median) : std::nullopt));
  if (!row.summary || !row.statistic.empty()) return median + R"("q1":null,"q3":null,"min":null,"max":null,"interval":null)";
  return median + fmt::format(R"("q1":{},"q3":{},"min":{},"max":{},"interval":{})", json_number(row.summary->q1),
                              json_number(row.summary->q3), json_number(row.summary->min), json_number(row.summary->max),
                              json_interval(row.summary->interval));
}

std::string json_speedup(const std::optional<Ratio>& ratio) {
  if (!ratio) return "null";
  const std::string ends = ratio->interval
                               ? fmt::format(R"("low":{},"high":{},"coverage":{})", json_number(ratio->interval->low),
                                             json_number(ratio->interval->high), json_number(ratio->interval->coverage))
                               : R"("low":null,"high":null,"coverage":null)";
  return fmt::format(R"({{"value":{},{},"resolved":{}}})", json_number(ratio->value), ends, json_flag(ratio->resolved));
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
    text += fmt::format(R"({}{{"run":"{}","attempt":"a{}","outcome":"{}","value":{},"wall_s":{},"node":{},"reason":{}}})",
                        text.size() > 1 ? "," : "", to_string(run.run), run.attempt, to_string(run.outcome),
                        json_number(run.value), json_number(run.wall_s), json_text(run.node), json_text(run.reason));
  }
  return text + "]";
}

std::string json_phases(const Phases& phases) {
  return fmt::format(R"({{"setup_s":{},"data_s":{},"train_s":{},"eval_s":{},"checkpoint_s":{},"communication_s":{}}})",
                     json_number(phases.setup_s), json_number(phases.data_s), json_number(phases.train_s),
                     json_number(phases.eval_s), json_number(phases.checkpoint_s), json_number(phases.communication_s));
}

std::string json_curve(const std::vector<EpochPoint>& curve) {
  return json_items(curve, [](const EpochPoint& point) {
    return fmt::format(R"({{"epoch":{},"n":{},"train_loss":{},"val_loss":{},"epoch_s":{}}})", point.epoch, point.n,
                       json_number(point.train_loss), json_number(point.val_loss), json_number(point.epoch_s));
  });
}

std::string json_ranks(const std::vector<RankTimes>& ranks) {
  return json_items(ranks, [](const RankTimes& times) {
    return fmt::format(R"({{"rank":{},"n":{},"train_s":{},"real_s":{},"user_s":{},"sys_s":{}}})", times.rank, times.n,
                       json_number(times.train_s), json_number(times.real_s), json_number(times.user_s),
                       json_number(times.sys_s));
  });
}

std::string json_metrics(const std::map<std::string, double>& metrics) {
  std::vector<std::string> members;
  for (const auto& [name, value] : metrics) members.push_back(json_quote(name) + ":" + json_number(value));
  return "{" + join(members, ",") + "}";
}

/// What stands beside the metric.
std::string json_beside(const Table& table, const Row& row) {
  return fmt::format(R"("source":{},"statistic":{},"metrics":{},"phases":{},"samples_per_s":{},"tokens_per_s":{},)",
                     json_quote(row.source), json_text(row.statistic), json_metrics(row.metrics), json_phases(row.phases),
                     json_number(row.samples_per_s), json_number(row.tokens_per_s)) +
         (table.has_gpus ? fmt::format(R"("gpu_hours":{},)", json_number(row.gpu_hours)) : "") +
         fmt::format(R"("mfu":{},"imbalance":{},"ranks":{},"curve":{},"best_epoch":{},"generalisation_gap":{},)",
                     json_number(row.mfu), json_number(row.imbalance), json_ranks(row.ranks), json_curve(row.curve),
                     json_whole(row.best_epoch), json_number(row.generalisation_gap)) +
         fmt::format(R"("overfits_from":{},"time_to_target_s":{},"reached_target":{})", json_whole(row.overfits_from),
                     json_number(row.time_to_target_s), row.reached_target);
}

/// What the report scales by, where that is not gpus.
std::string json_scale(const Table& table, const Row& row) {
  if (table.scale_by == "gpus") return "";
  return fmt::format(R"("scale":{},)", row.size == 0 ? "null" : std::to_string(row.size));
}

std::string json_tried_again(const Row& row) {
  const std::string continued =
      row.continued == 0 ? "" : fmt::format(R"(,"continued":{},"segments":{})", row.continued, row.segments);
  const std::string packed = row.side_by_side <= 1 ? "" : fmt::format(R"(,"side_by_side":{})", row.side_by_side);
  const std::string aside = row.set_aside.empty() ? "" : ",\"set_aside\":" + json_runs(row.set_aside);
  const std::string nan = row.nan == 0 ? "" : fmt::format(R"(,"nan":{})", row.nan);
  return continued + packed + aside + nan + (row.tried_again == 0 ? "" : fmt::format(R"(,"tried_again":{})", row.tried_again));
}

std::string json_row(const Table& table, const Row& row) {
  return fmt::format(R"({{"config_id":{},"axes":{},{}{}{}"n":{},{},"speedup":{},"ratio_of_medians":{},)",
                     json_quote(row.config_id), json_axes(row.axes),
                     row.derived.empty() ? "" : "\"derived\":" + json_axes(row.derived) + ',',
                     table.has_gpus ? fmt::format(R"("gpus":{},)", row.gpus) : "", json_scale(table, row), row.n,
                     json_summary(row), json_speedup(row.speedup), json_number(row.ratio_of_medians)) +
         fmt::format(R"("efficiency":{},"karp_flatt":{},"train_loss":{},"validation_loss":{},"nodes_seen":{},"outcomes":{},)",
                     json_number(row.efficiency), json_number(row.karp_flatt), json_number(row.train_loss),
                     json_number(row.validation_loss), row.nodes.empty() ? "null" : std::to_string(row.nodes.size()),
                     json_outcomes(row.outcomes)) +
         fmt::format(R"("censored":{},"censored_at_s":{},"speedup_below":{},"is_baseline":{},{},"warnings":{},"runs":{}}})",
                     row.censored, json_number(row.censored_at_s), json_number(row.speedup_below), row.is_baseline,
                     json_beside(table, row) + json_tried_again(row), json_list(row.warnings), json_runs(row.runs));
}

std::string json_inner_row(const Row& row) {
  std::vector<std::string> values;
  for (const RunValue& run : row.runs) {
    if (run.value) values.push_back(json_number(*run.value));
  }
  return fmt::format(R"({{"config_id":{},"axes":{},"n":{},{},"speedup":{},"is_baseline":{},"values":[{}]}})",
                     json_quote(row.config_id), json_axes(row.axes), row.n, json_summary(row), json_speedup(row.speedup),
                     row.is_baseline, join(values, ","));
}

std::string json_warning(const TableWarning& warning) {
  return fmt::format(R"({{"code":{},"rows":{},"seen":{},"why":{},"advice":{}}})", json_quote(warning.code),
                     json_list(warning.rows), json_quote(warning.seen), json_quote(warning.why), json_quote(warning.advice));
}

std::string json_fit_points(const std::string& unit, const std::vector<FitPoint>& points) {
  return json_items(points, [&](const FitPoint& point) {
    return fmt::format(R"({{"{}":{},"speedup":{},"fitted":{},"residual":{}}})", unit, point.size, json_number(point.speedup),
                       json_number(point.fitted), json_number(point.residual));
  });
}

std::string json_fit(const Table& table, const Fit& fit) {
  return fmt::format(
      R"({{"law":{},"label":{},"serial_fraction":{},"residual_rms":{},"degrees_of_freedom":{},"points":{},"extrapolated":{}}})",
      json_quote(fit.law), json_quote(fit.label), json_number(fit.serial_fraction), json_number(fit.residual_rms),
      fit.degrees_of_freedom, json_fit_points(table.scale_by, fit.points), json_fit_points(table.scale_by, fit.extrapolated));
}

std::string json_rule(const ReportingRule& rule) {
  const char* verdict = rule.verdict == RuleVerdict::met       ? "met"
                        : rule.verdict == RuleVerdict::not_met ? "not_met"
                                                               : "not_applicable";
  return fmt::format(R"({{"number":{},"rule":{},"verdict":"{}","reason":{}}})", rule.number, json_quote(rule.rule), verdict,
                     json_quote(rule.reason));
}

std::string json_provenance(const std::vector<ProvenanceRow>& provenance) {
  std::vector<std::string> members;
  for (const ProvenanceRow& row : provenance) members.push_back(json_quote(row.name) + ":" + json_list(row.values));
  return "{" + join(members, ",") + "}";
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
      "{{\n  \"schema\": 1,\n  \"experiment\": {},\n  \"description\": {},\n  \"metric\": {},\n  \"unit\": {},\n  \"better\": "
      "{},\n  "
      "\"confidence\": {},\n"
      "  \"baseline\": {},\n",
      json_quote(table.experiment), json_quote(table.description), json_quote(table.metric), json_quote(table.unit),
      table.kind.better ? json_quote(to_string(*table.kind.better)) : "null", json_number(table.confidence),
      json_condition(table.baseline));
  if (!table.looks.empty()) out += fmt::format("  \"looks\": [{}],\n", fmt::join(table.looks, ","));
  if (table.scale_by != "gpus") out += fmt::format("  \"scale_by\": \"{}\",\n", table.scale_by);
  if (table.inner)
    out += fmt::format("  \"inner\": {{\"name\":{},\"at\":{}}},\n", json_quote(table.inner->name), table.inner->at.canonical());
  append_elements(out, "rows", table.rows, [&](const Row& row) { return json_row(table, row); });
  out += ",\n";
  if (table.inner) append_elements(out, "inner_rows", table.inner_rows, json_inner_row);
  if (table.inner) out += ",\n";
  append_elements(out, "warnings", table.warnings, json_warning);
  out += ",\n";
  append_elements(out, "notes", table.notes, [](const std::string& note) { return json_quote(note); });
  out += ",\n";
  append_elements(out, "fits", table.fits, [&](const Fit& fit) { return json_fit(table, fit); });
  out += fmt::format(",\n  \"methods\": {},\n", json_text(table.methods));
  append_elements(out, "rules", table.rules, json_rule);
  out += fmt::format(",\n  \"provenance\": {}", json_provenance(table.provenance));
  return out + "\n}\n";
}

}  // namespace hpcbench
