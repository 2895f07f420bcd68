#include <fmt/format.h>

#include <algorithm>

#include "base/named_glob.hpp"
#include "base/take.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "base/written_number.hpp"
#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/placeholders.hpp"
#include "spec/read_import_sources.hpp"

namespace hpcbench {

namespace {

constexpr const char* kImportForm = "{files: old/ddp.out, run: {strategy: ddp, nodes: 2}}";

std::optional<double> seconds_of_time_unit(std::string_view unit) {
  if (unit == "s") return 1;
  if (unit == "min") return 60;
  if (unit == "h") return 3600;
  return std::nullopt;
}

/// Whether the paths of its files name axes or facts.
bool has_names(const Import& import) {
  return std::any_of(import.files.begin(), import.files.end(),
                     [](const std::string& glob) { return !NamedGlob("", glob).names().empty(); });
}

/// One glob, or a list of them.
std::optional<std::vector<std::string>> read_globs(MapReader& reader, std::string_view key, Diagnostics& diagnostics) {
  const YamlNode* node = reader.take(key);
  if (node == nullptr) return std::nullopt;
  if (node->is_list()) return read_texts(*node, cite(reader.path(key)), diagnostics);
  const std::optional<std::string> text = read_text(*node, cite(reader.path(key)), diagnostics);
  if (text && !text->empty()) return std::vector{*text};
  if (text) diagnostics.add(node->location, cite(reader.path(key)) + " is an empty text");
  return std::nullopt;
}

/// `{column: time_unit}`
void read_unit_column(const YamlNode& node, const std::string& metric, Import& import, Diagnostics& diagnostics) {
  MapReader reader(node, "unit", unit_column_keys(), diagnostics);
  const std::optional<std::string> column = reader.filled_text("column");
  if (!import.is_table) diagnostics.add(node.location, "`column` is of a `table`");
  if (column) import.unit_columns[metric] = *column;
  if (!reader.has("column")) diagnostics.add(node.location, "a unit is a text, or {column: HEADING}");
  reader.finish();
}

/// One unit for all, or a map of metric: unit.
void read_units(MapReader& reader, Import& import, Diagnostics& diagnostics) {
  const YamlNode* node = reader.take("unit");
  if (node == nullptr) return;
  if (node->is_map()) {
    for (std::size_t i = 0; i < node->items.size(); ++i) {
      if (node->items[i].is_map()) {
        read_unit_column(node->items[i], node->keys[i].name, import, diagnostics);
        continue;
      }
      std::string& unit = import.units[node->keys[i].name];
      assign(unit, read_text(node->items[i], "a unit", diagnostics));
      check_unit(node->items[i].location, unit, diagnostics);
    }
    return;
  }
  assign(import.unit, read_text(*node, "`unit`", diagnostics));
  if (import.unit.empty() || unit_factor(import.unit, "s")) return;
  diagnostics.add(node->location, fmt::format("{} is no unit of time", cite(import.unit)),
                  "write s, ms, min or h, or a map of metric: unit: {throughput: samples/s}");
}

void read_values(MapReader& reader, Import& import, Diagnostics& diagnostics) {
  const YamlNode* node = reader.take("values");
  if (node == nullptr || !expect_map(*node, "`values`", diagnostics)) return;
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const std::string& name = node->keys[i].name;
    if (!is_identifier(name)) {
      diagnostics.add(node->keys[i].location, fmt::format("{} cannot be the name of a metric", cite(name)),
                      "a name has letters, digits and _, and does not start with a digit");
      continue;
    }
    const std::optional<std::string> text = read_text(node->items[i], cite(name), diagnostics);
    if (!text) continue;
    const auto unit = import.units.find(name);
    const auto value = read_given_value(name, *text, unit == import.units.end() ? import.unit : unit->second,
                                        NumberReader("", import.decimal));
    if (value) {
      import.values.push_back(*value);
    } else if (import.is_table && !text->empty()) {
      map_heading(import, name, *text, node->items[i].location, diagnostics);
    } else {
      const std::string why = read_written_number(*text, import.decimal).why;
      diagnostics.add(node->items[i].location,
                      fmt::format("{} is neither a number nor a time{}", cite(*text), why.empty() ? "" : ": " + why),
                      "write 4108.8, 12.98 min, 63 min 48 s or \"1:03:48\"; the heading of a column needs `table`");
    }
  }
}

void read_statistic(MapReader& reader, Import& import, Diagnostics& diagnostics) {
  const std::optional<std::string> word = reader.filled_text("statistic");
  if (!word) return;
  import.statistic = parse_statistic(*word);
  if (import.statistic) return;
  diagnostics.add(reader.location_of("statistic"), fmt::format("{} is no statistic", cite(*word)),
                  std::string("write ") + kStatisticWords);
}

std::optional<ParsedImport> read_import_map(const YamlNode& node, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.made();
  ParsedImport parsed;
  Import& import = parsed.import;
  import.place = place_of(node.location);
  MapReader reader(node, "import", import_keys(), diagnostics);
  const bool has_files = reader.has("files");
  const bool has_table = reader.has("table");
  if (has_files && has_table)
    diagnostics.add(reader.location_of("table"), "`table` stands beside `files`: an entry is one of them");
  if (node.is_map() && !has_files && !has_table && !reader.has("values") && !reader.has("outcome")) {
    diagnostics.add(node.location, "an import needs `files`, `table`, `values` or `outcome`", kImportForm);
  }
  if (auto files = read_globs(reader, "files", diagnostics)) import.files = *std::move(files);
  if (auto tables = read_globs(reader, "table", diagnostics)) import.files = *std::move(tables);
  import.is_table = has_table;
  if (!has_table && !reader.has("run") && !has_names(import)) parsed.needs_run = &node;
  assign(import.each, reader.flag("each"));
  if (import.each && !has_files) diagnostics.add(reader.location_of("each"), "`each` is of `files`");
  read_import_table(reader, import, diagnostics);
  read_import_run(reader, parsed, diagnostics);
  read_units(reader, import, diagnostics);
  import.decimal = read_decimal_mark(reader);
  read_values(reader, import, diagnostics);
  import.metrics = read_metrics(reader, true, diagnostics);
  refuse_placeholders_in(node, {"files", "table"}, "import", "write the name: an entry of `import` is of one point",
                         diagnostics);
  read_import_outcome(reader, import, diagnostics);
  read_statistic(reader, import, diagnostics);
  assign(import.n, reader.integer("n"));
  import.note = reader.filled_text("note");
  read_import_facts(reader, import, diagnostics);
  reader.finish();
  return diagnostics.made() == before ? std::optional(parsed) : std::nullopt;
}

std::optional<ParsedImport> read_import_text(const YamlNode& node, Diagnostics& diagnostics) {
  const std::optional<std::string> text = read_text(node, "an entry of `import`", diagnostics);
  if (text && text->empty()) diagnostics.add(node.location, "an entry of `import` is an empty text");
  if (!text || text->empty()) return std::nullopt;
  refuse_placeholders(node, *text, "an entry of `import`", "write the name, or a glob", diagnostics);
  ParsedImport parsed;
  parsed.import.files = {*text};
  parsed.import.is_table = text->ends_with(".csv") || text->ends_with(".tsv");
  parsed.import.each = !parsed.import.is_table;
  parsed.import.place = place_of(node.location);
  return parsed;
}

}  // namespace

std::optional<GivenValue> read_given_value(const std::string& metric, const std::string& text, const std::string& unit,
                                           NumberReader numbers) {
  const std::string trimmed(trim(text));
  const bool named_in_s = metric.ends_with("_s") && !metric.ends_with("_per_s");
  const WrittenNumber number = numbers.read_as_written(trimmed);
  if (number.kind != WrittenNumber::Kind::number) return std::nullopt;
  if (number.unit.empty()) {
    const std::string given_unit = unit.empty() && named_in_s ? "s" : unit;
    const std::optional<double> seconds = seconds_of_time_unit(given_unit);
    return GivenValue{metric, number.value * seconds.value_or(1), seconds ? "s" : given_unit,
                      given_unit.empty() ? trimmed : trimmed + ' ' + given_unit};
  }
  if (number.seconds) return GivenValue{metric, *number.seconds, "s", trimmed};
  if (number.unit == "%" || is_known_unit(number.unit)) return GivenValue{metric, number.value, number.unit, trimmed};
  const std::optional<double> bytes = factor_of_letter(number.unit, "bytes");
  return bytes ? std::optional(GivenValue{metric, number.value * *bytes, "bytes", trimmed}) : std::nullopt;
}

void read_imports(const YamlNode& node, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  if (!expect_list(node, "`import`", diagnostics)) return;
  for (const YamlNode& item : node.items) {
    if (diagnostics.full()) return;
    auto read = item.is_map() ? read_import_map(item, diagnostics) : read_import_text(item, diagnostics);
    if (read) parsed.imports.push_back(*std::move(read));
  }
}

}  // namespace hpcbench
