#include "spec/read_import_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/json_text.hpp"
#include "base/take.hpp"
#include "base/text.hpp"
#include "spec/import_words.hpp"

namespace hpcbench {

namespace {

/// The source of `name` that the keys of `reader` describe: a column of a table, else a text in files. A column becomes one of
/// `headings`, and nothing is returned.
std::optional<Import::TextSource> read_source(MapReader& reader, const YamlNode& node, const std::string& name, Import& import,
                                              Diagnostics& diagnostics) {
  const std::optional<std::string> column = reader.filled_text("column");
  Import::TextSource source;
  assign(source.file, reader.filled_text("file"));
  for (const char* const kind : {"pointer", "pattern"}) {
    const std::optional<std::string> selector = reader.filled_text(kind);
    if (!selector) continue;
    if (!source.kind.empty()) {
      diagnostics.add(reader.location_of(kind), "`pattern` stands beside `pointer`: a source has one of them");
      continue;
    }
    source.kind = kind;
    source.selector = *selector;
    if (source.kind == "pattern") check_pattern(*node.find(kind), *selector, diagnostics);
    if (source.kind == "pointer" && !json_pointer_tokens(*selector)) {
      diagnostics.add(node.find(kind)->location, fmt::format("{} is no JSON pointer", cite(*selector)),
                      "a pointer begins with /: /optim/lr");
    }
  }
  const bool is_of_files = !source.kind.empty() || !source.file.empty();
  if (import.is_table && is_of_files) {
    diagnostics.add(node.location, "a `table` gives texts by `column`", "write {column: HEADING}");
  } else if (!import.is_table && column) {
    diagnostics.add(reader.location_of("column"), "`column` is of a `table`", "write {file: GLOB, pointer: /a/b} or pattern");
  } else if (!import.is_table && source.kind.empty()) {
    diagnostics.add(node.location, "a source in files needs `pointer` or `pattern`",
                    "write {file: config.yaml, pointer: /optim/lr} or {file: params/gpus, pattern: '.+'}");
  } else if (!import.is_table && import.files.empty()) {
    diagnostics.add(node.location, "a source is about the folders of `files`, and this entry has none", "write the text");
  } else if (column) {
    map_heading(import, name, *column, reader.location_of("column"), diagnostics);
  }
  return import.is_table ? std::nullopt : std::optional(source);
}

std::optional<Import::TextSource> read_source(const YamlNode& node, const std::string& name, Import& import,
                                              Diagnostics& diagnostics) {
  MapReader reader(node, name, text_source_keys(), diagnostics);
  std::optional<Import::TextSource> source = read_source(reader, node, name, import, diagnostics);
  if (import.is_table && !reader.has("column")) diagnostics.add(node.location, "a source in a table needs `column`");
  reader.finish();
  return source;
}

/// `{column: HEADING, pattern: RE}` as a heading with the pattern behind it.
std::optional<std::string> read_part_of_column(const YamlNode& node, const std::string& name, Diagnostics& diagnostics) {
  MapReader reader(node, name, text_source_keys(), diagnostics);
  const std::optional<std::string> column = reader.filled_text("column");
  const std::optional<std::string> pattern = reader.filled_text("pattern");
  if (!column || !pattern || reader.has("file") || reader.has("pointer")) {
    diagnostics.add(node.location, fmt::format("{} needs `column` and `pattern`, and nothing else", cite(name)),
                    "write a heading, or {column: HEADING, pattern: '/n:(\\d+)'}");
    return std::nullopt;
  }
  check_pattern(*node.find("pattern"), *pattern, diagnostics);
  reader.finish();
  return *column + kPatternMark + *pattern;
}

bool has_only_names(const YamlNode& node, const std::string& what, Diagnostics& diagnostics) {
  if (!node.is_map() || node.items.empty()) return expect_map(node, what, diagnostics);
  return true;
}

void read_words(const YamlNode& node, Import& import, Diagnostics& diagnostics) {
  if (!expect_map(node, "`is`", diagnostics)) return;
  std::vector<std::string> outcomes = import_keys().find("outcome")->words;
  outcomes.emplace_back(kIgnoredOutcome);
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::optional<std::string> outcome = read_text(node.items[i], cite(node.keys[i].name), diagnostics);
    if (!outcome) continue;
    import.outcome_words[node.keys[i].name] = *outcome;
    if (std::find(outcomes.begin(), outcomes.end(), *outcome) != outcomes.end()) continue;
    diagnostics.add(node.items[i].location, fmt::format("{} is no outcome{}", cite(*outcome), did_you_mean(*outcome, outcomes)),
                    "outcomes: " + cite_all(outcomes));
  }
}

}  // namespace

void map_heading(Import& import, const std::string& name, const std::string& heading, const SourceLocation& location,
                 Diagnostics& diagnostics) {
  for (const auto& [other, its_heading] : import.headings) {
    if (its_heading != heading || other == name) continue;
    diagnostics.add(location, fmt::format("`{}` and `{}` both come from the column {}", name, other, cite(heading)),
                    "a column gives one metric: compute the other one by `formula`");
  }
  import.headings[name] = heading;
}

void read_import_run(MapReader& reader, ParsedImport& parsed, Diagnostics& diagnostics) {
  const YamlNode* const run = reader.take("run");
  if (run == nullptr || !has_only_names(*run, "`run`", diagnostics)) return;
  auto constants = std::make_shared<YamlNode>(*run);
  constants->keys.clear();
  constants->items.clear();
  for (std::size_t i = 0; i < run->items.size(); ++i) {
    const std::string& name = run->keys[i].name;
    if (!run->items[i].is_map()) {
      constants->keys.push_back(run->keys[i]);
      constants->items.push_back(run->items[i]);
    } else if (auto source = read_source(run->items[i], name, parsed.import, diagnostics)) {
      parsed.import.run_sources[name] = *std::move(source);
    }
  }
  if (constants->items.empty()) return;
  parsed.constants = constants;
  parsed.run = read_condition(*constants, "`run`", false, diagnostics);
  for (std::size_t i = 0; parsed.run && i < parsed.run->condition.size(); ++i)
    parsed.import.run.emplace_back(parsed.run->condition[i].first, parsed.run->condition[i].second.front());
}

void read_import_facts(MapReader& reader, Import& import, Diagnostics& diagnostics) {
  const YamlNode* const node = reader.take("facts");
  if (node == nullptr || !expect_map(*node, "`facts`", diagnostics)) return;
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const std::string& name = node->keys[i].name;
    if (node->items[i].is_map()) {
      const std::string as_column = import.is_table ? "fact:" + name : name;
      if (auto source = read_source(node->items[i], as_column, import, diagnostics))
        import.fact_sources[name] = *std::move(source);
    } else if (const std::optional<std::string> text = read_text(node->items[i], cite(name), diagnostics)) {
      import.facts[name] = *text;
    }
  }
}

void read_import_outcome(MapReader& reader, Import& import, Diagnostics& diagnostics) {
  if (!reader.has("outcome")) return;
  const YamlNode* const node = reader.take("outcome");
  if (node == nullptr) return;
  if (node->is_map()) {
    MapReader of_words(*node, "outcome", import_outcome_keys(), diagnostics);
    import.outcome_source = read_source(of_words, *node, "outcome", import, diagnostics);
    if (const YamlNode* words = of_words.take("is")) read_words(*words, import, diagnostics);
    of_words.finish();
    return;
  }
  import.outcome = read_text(*node, "`outcome`", diagnostics);
  const std::vector<std::string>& words = import_keys().find("outcome")->words;
  if (!import.outcome || std::find(words.begin(), words.end(), *import.outcome) != words.end()) return;
  diagnostics.add(reader.location_of("outcome"),
                  fmt::format("{} is no outcome{}", cite(*import.outcome), did_you_mean(*import.outcome, words)),
                  "outcomes: " + cite_all(words));
}

void read_import_table(MapReader& reader, Import& import, Diagnostics& diagnostics) {
  for (const char* const key : {"columns", "rows", "query", "where", "take"}) {
    if (!import.is_table && reader.has(key)) diagnostics.add(reader.location_of(key), fmt::format("`{}` is of a `table`", key));
  }
  if (const std::optional<std::string> rows = reader.text("rows")) {
    import.rows = *rows;
    if (!json_pointer_tokens(*rows))
      diagnostics.add(reader.location_of("rows"), fmt::format("{} is no JSON pointer", cite(*rows)), "write /experiments/*");
  }
  assign(import.query, reader.filled_text("query"));
  if (const YamlNode* columns = reader.take("columns"); columns != nullptr && expect_map(*columns, "`columns`", diagnostics)) {
    import.lists_columns = true;
    for (std::size_t i = 0; i < columns->items.size(); ++i) {
      const YamlKey& key = columns->keys[i];
      const std::string name = key.name.starts_with("fact:") ? key.name.substr(5) : key.name;
      if (!is_identifier(name)) {
        diagnostics.add(key.location, fmt::format("{} cannot be the name of an axis, a metric or a fact", cite(key.name)),
                        "`columns` maps names to headings: {batch: config.batch_size}");
        continue;
      }
      const std::optional<std::string> heading = columns->items[i].is_map()
                                                     ? read_part_of_column(columns->items[i], key.name, diagnostics)
                                                     : read_text(columns->items[i], cite(key.name), diagnostics);
      if (heading) map_heading(import, key.name, *heading, columns->items[i].location, diagnostics);
    }
  }
  if (const YamlNode* where = reader.take("where")) {
    if (const auto condition = read_condition(*where, "`where`", true, diagnostics)) import.where = condition->condition;
  }
  import.take = reader.filled_text("take");
  if (import.take && !parse_take(*import.take)) {
    diagnostics.add(reader.location_of("take"), fmt::format("`take` knows no {}", cite(*import.take)),
                    "write last, first, min, max, sum, count, mean, median, or a percentile: p95");
  }
}

}  // namespace hpcbench
