#include "base/json_writer.hpp"
#include "report/cells.hpp"
#include "report/formats/formats.hpp"
#include "report/table.hpp"

namespace hpcbench {

static void write_json(JsonWriter& json, const Interval& interval) {
  json.begin_object().member("low", interval.low).member("high", interval.high).member("coverage", interval.coverage).end();
}

static void write_json(JsonWriter& json, const Ratio& ratio) {
  const auto end = [&](double Interval::*member) {
    return ratio.interval ? std::optional((*ratio.interval).*member) : std::nullopt;
  };
  json.begin_object().member("value", ratio.value).member("low", end(&Interval::low)).member("high", end(&Interval::high));
  json.member("coverage", end(&Interval::coverage)).member("resolved", ratio.resolved).end();
}

static void write_json(JsonWriter& json, const RunValue& run) {
  json.begin_object().member("run", to_string(run.run)).member("attempt", fmt::format("a{}", run.attempt));
  json.member("outcome", to_string(run.outcome)).member("value", run.value).member("wall_s", run.wall_s);
  json.member("node", text_or_null(run.node)).member("reason", text_or_null(run.reason)).end();
}

static void write_json(JsonWriter& json, const Phases& phases) {
  json.begin_object().member("setup_s", phases.setup_s).member("data_s", phases.data_s).member("train_s", phases.train_s);
  json.member("eval_s", phases.eval_s).member("checkpoint_s", phases.checkpoint_s);
  json.member("communication_s", phases.communication_s).end();
}

static void write_json(JsonWriter& json, const EpochPoint& point) {
  json.begin_object().member("epoch", point.epoch).member("n", point.n).member("train_loss", point.train_loss);
  json.member("val_loss", point.val_loss).member("epoch_s", point.epoch_s).end();
}

static void write_json(JsonWriter& json, const RankTimes& times) {
  json.begin_object().member("rank", times.rank).member("n", times.n).member("train_s", times.train_s);
  json.member("real_s", times.real_s).member("user_s", times.user_s).member("sys_s", times.sys_s).end();
}

static void write_json(JsonWriter& json, const TableWarning& warning) {
  json.begin_object().member("code", warning.code).member("rows", warning.rows).member("seen", warning.seen);
  json.member("why", warning.why).member("advice", warning.advice).end();
}

static void write_json(JsonWriter& json, const ReportingRule& rule) {
  const char* verdict = rule.verdict == RuleVerdict::met       ? "met"
                        : rule.verdict == RuleVerdict::not_met ? "not_met"
                                                               : "not_applicable";
  json.begin_object().member("number", rule.number).member("rule", rule.rule).member("verdict", verdict);
  json.member("reason", rule.reason).end();
}

namespace {

/// Spells equal values of an axis alike.
void write_axes(JsonWriter& json, const Bindings& axes) {
  json.begin_object();
  for (const auto& [name, value] : axes) json.member(name, JsonText{value.canonical()});
  json.end();
}

/// Writes one value directly, several as a list.
void write_condition(JsonWriter& json, const Condition& condition) {
  if (condition.empty()) {
    json.value(JsonText{"null"});
    return;
  }
  json.begin_object();
  for (const auto& [name, values] : condition) {
    json.key(name);
    if (values.size() != 1) json.begin_array();
    for (const Value& value : values) json.value(JsonText{value.canonical()});
    if (values.size() != 1) json.end();
  }
  json.end();
}

void write_row(JsonWriter& json, const Table& table, const Row& row) {
  write_axes(json.begin_object().member("config_id", row.config_id).key("axes"), row.axes);
  if (!row.derived.empty()) write_axes(json.key("derived"), row.derived);
  write_columns(json, table, row, "gpus", "outcomes");
  json.member("censored", row.counts.censored).member("censored_at_s", row.censored_at_s);
  json.member("speedup_below", row.speedup_below).member("is_baseline", row.is_baseline);
  write_columns(json, table, row, "source", "statistic");
  json.member("metrics", row.metrics);
  write_columns(json, table, row, "phases", "imbalance");
  json.member("ranks", row.times.ranks).member("curve", row.losses.curve);
  write_columns(json, table, row, "best_epoch", "time_to_target");
  json.member("reached_target", row.losses.reached_target);
  if (row.counts.continued > 0) json.member("continued", row.counts.continued).member("segments", row.counts.segments);
  if (row.counts.side_by_side > 1) json.member("side_by_side", row.counts.side_by_side);
  if (!row.set_aside.empty()) json.member("set_aside", row.set_aside);
  if (row.counts.nan > 0) json.member("nan", row.counts.nan);
  if (row.counts.tried_again > 0) json.member("tried_again", row.counts.tried_again);
  json.member("warnings", row.warnings).member("runs", row.runs).end();
}

void write_inner_row(JsonWriter& json, const Table& table, const Row& row) {
  write_axes(json.begin_object().member("config_id", row.config_id).key("axes"), row.axes);
  write_columns(json, table, row, "n", "speedup");
  json.member("is_baseline", row.is_baseline).key("values").begin_array();
  for (const RunValue& run : row.runs) {
    if (run.value) json.value(*run.value);
  }
  json.end().end();
}

void write_points(JsonWriter& json, const std::string& unit, const std::vector<FitPoint>& points) {
  json.begin_array();
  for (const FitPoint& point : points) {
    json.begin_object().member(unit, point.size).member("speedup", point.speedup).member("fitted", point.fitted);
    json.member("residual", point.residual).end();
  }
  json.end();
}

void write_fit(JsonWriter& json, const Table& table, const Fit& fit) {
  json.begin_object().member("law", fit.law).member("label", fit.label).member("serial_fraction", fit.serial_fraction);
  json.member("residual_rms", fit.residual_rms).member("degrees_of_freedom", fit.degrees_of_freedom);
  write_points(json.key("points"), table.scale_by, fit.points);
  write_points(json.key("extrapolated"), table.scale_by, fit.extrapolated);
  json.end();
}

/// Writes one element per line, so that differences between two reports are easy to see.
template <class Element, class Write>
void write_lines(JsonWriter& json, const char* name, const std::vector<Element>& elements, const Write& write) {
  json.key(name).begin_array(JsonLayout::lines);
  for (const Element& element : elements) write(element);
  json.end();
}

}  // namespace

/// A published median has no interval.
void write_interval(JsonWriter& json, const Row& row) {
  json.member("interval", row.summary && row.statistic.empty() ? row.summary->interval : std::nullopt);
}

void write_speedup(JsonWriter& json, const Row& row) { json.member("speedup", row.speedup); }

/// Always writes `succeeded`, so that readers need not test for it.
void write_outcomes(JsonWriter& json, const Row& row) {
  const StateCounts& outcomes = row.counts.outcomes;
  json.key("outcomes").begin_object().member("succeeded", outcomes.of(State::succeeded));
  for (const auto& [state, count] : outcomes) {
    if (state != State::succeeded) json.member(to_string(state), count);
  }
  json.end();
}

void write_phases(JsonWriter& json, const Row& row) { json.member("phases", row.times.phases); }

std::string print_json(const Table& table, const PrintSettings&) {
  JsonWriter json;
  const auto value = [&](const auto& element) { json.value(element); };
  json.begin_object(JsonLayout::lines).member("schema", 1).member("experiment", table.experiment);
  json.member("description", table.description).member("metric", table.metric).member("unit", table.unit).key("better");
  table.kind.better ? json.value(to_string(*table.kind.better)) : json.value(JsonText{"null"});
  write_condition(json.member("confidence", table.confidence).key("baseline"), table.baseline);
  if (!table.looks.empty()) json.member("looks", table.looks);
  if (table.scale_by != "gpus") json.member("scale_by", table.scale_by);
  if (table.inner) {
    json.key("inner").begin_object().member("name", table.inner->name);
    json.member("at", JsonText{table.inner->at.canonical()}).end();
  }
  write_lines(json, "rows", table.rows, [&](const Row& row) { write_row(json, table, row); });
  if (table.inner)
    write_lines(json, "inner_rows", table.inner_rows, [&](const Row& row) { write_inner_row(json, table, row); });
  write_lines(json, "warnings", table.warnings, value);
  write_lines(json, "notes", table.notes, value);
  write_lines(json, "fits", table.fits, [&](const Fit& fit) { write_fit(json, table, fit); });
  json.member("methods", text_or_null(table.methods));
  write_lines(json, "rules", table.rules, value);
  json.key("provenance").begin_object();
  for (const ProvenanceRow& row : table.provenance) json.member(row.name, row.values);
  return json.end().end().take() + "\n";
}

}  // namespace hpcbench
