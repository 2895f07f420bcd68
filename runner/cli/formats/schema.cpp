#include "cli/formats/schema.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace hpcbench {

namespace {

using Json = nlohmann::ordered_json;

// YAML's words for what files may hold; see KeyKind. Patterns are about texts alone: a number passes all of them.
constexpr const char* kFilled = "\\S";
constexpr const char* kPlainName = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$";
constexpr const char* kIdentifier = "^[A-Za-z_][A-Za-z0-9_]{0,99}$";
constexpr const char* kDuration = "^[0-9.eE+:-]+\\s*[smhd]?$";
constexpr const char* kPercentage = "^\\s*[+-]?[0-9.eE+-]+\\s*%\\s*$";
constexpr const char* kPlaceholder = "\\{\\{";

Json scalar() { return {{"type", {"string", "number", "boolean"}}}; }
Json matching(const char* pattern) { return {{"type", {"string", "number", "boolean"}}, {"pattern", pattern}}; }
Json list_of(Json items, int least = 1) {
  Json json = {{"type", "array"}};
  if (least > 0) json["minItems"] = least;
  json["items"] = std::move(items);
  return json;
}
Json map_of(Json values) { return {{"type", "object"}, {"minProperties", 1}, {"additionalProperties", std::move(values)}}; }
Json any_of(std::vector<Json> shapes) { return {{"anyOf", std::move(shapes)}}; }

/// A single value, or a list of arguments.
Json axis_value() { return any_of({scalar(), list_of(scalar(), 0)}); }
Json axis_values() { return list_of(axis_value()); }

/// An axis: a list of values, or the range that stands for one.
Json axis_of(const Json& values, const Json& range) { return any_of({values, range}); }

Json axes(const Json& range) {
  Json json = map_of(axis_of(axis_values(), range));
  json["propertyNames"] = {{"pattern", kIdentifier}};
  for (const auto& [name, least] : {std::pair("nodes", 1), std::pair("gpus_per_node", 0), std::pair("ranks_per_node", 1)})
    json["properties"][name] = axis_of(list_of({{"type", "integer"}, {"minimum", least}}), range);
  return json;
}

Json condition() { return any_of({scalar(), map_of(any_of({scalar(), list_of(axis_value())}))}); }

Json integers_of(const KeyRow& row) { return {{"type", "integer"}, {"minimum", row.least}, {"maximum", row.most}}; }

/// A file that uses others, and a profile, say only what is different: no key is required in maps that merge, and `~` removes.
enum class Layer { whole, over };

std::string definition_name(const KeySection& section, Layer layer) {
  return std::string(section.name) + (layer == Layer::over ? "_over" : "");
}

/// The definitions of all maps that a schema mentions.
class SchemaWriter {
 public:
  Json reference(const KeySection& section, Layer layer) {
    const std::string name = definition_name(section, layer);
    if (!definitions_.contains(name)) {
      definitions_[name] = nullptr;  // while it is made, it may be mentioned
      Json made = map_of_section(section, layer);
      definitions_[name] = std::move(made);
    }
    return {{"$ref", "#/definitions/" + name}};
  }

  const Json& definitions() const { return definitions_; }

 private:
  Json map_of_section(const KeySection& section, Layer layer) {
    Json json = {{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
    for (const KeyRow& row : section.keys) {
      const bool is_of_file = row.name == "experiment" || row.name == "profiles" || row.name == "use";
      if (row.kind == KeyKind::refused || (in_profile_ && &section == &experiment_keys() && is_of_file)) continue;
      json["properties"][std::string(row.name)] = value_of_row(row, layer);
      if (row.required && layer == Layer::whole) json["required"].push_back(row.name);
    }
    if (layer == Layer::whole) add_relations(json, section);
    return json;
  }

  Json value_of_row(const KeyRow& row, Layer layer) {
    const Json shape = shape_of(row, layer);
    std::vector<Json> shapes = {shape};
    if (shape.contains("anyOf")) shapes = shape["anyOf"].get<std::vector<Json>>();
    if (row.kind != KeyKind::choice && row.kind != KeyKind::choice_or_map && !row.words.empty())
      shapes.push_back({{"enum", row.words}});
    if (row.fillable) shapes.push_back({{"type", "string"}, {"pattern", kPlaceholder}});
    if (layer == Layer::over) shapes.push_back({{"type", "null"}});
    std::string about(row.about);
    if (!row.initial.empty()) about += fmt::format(" (default: {})", row.initial);
    // Where several alternatives fit, editors show what these say of themselves.
    for (Json& each : shapes) each = described(each, about);
    return shapes.size() == 1 ? shapes.front() : described(any_of(shapes), about);
  }

  static Json described(Json json, const std::string& about) {
    // Beside `$ref` nothing else counts in draft 07.
    if (json.contains("$ref")) json = {{"allOf", Json::array({json})}};
    json["description"] = about;
    return json;
  }

  Json range() { return reference(range_keys(), Layer::whole); }

  Json shape_of(const KeyRow& row, Layer layer) {
    switch (row.kind) {
      case KeyKind::map:
        return reference(row.section(), layer);
      case KeyKind::maps:
        return list_of(reference(row.section(), Layer::whole), least_of(layer));
      case KeyKind::maps_or_none:
        return list_of(reference(row.section(), Layer::whole), 0);
      case KeyKind::integer_or_map:
        return any_of({integers_of(row), reference(row.section(), layer)});
      case KeyKind::map_or_text:
        return any_of({matching(kFilled), reference(row.section(), layer)});
      case KeyKind::maps_or_texts:
        return list_of(any_of({matching(kFilled), reference(row.section(), Layer::whole)}), least_of(layer));
      case KeyKind::named_maps: {
        Json maps = map_of(over_or_null(reference(row.section(), layer), layer));
        maps["propertyNames"] = {{"pattern", kIdentifier}};
        return any_of({list_of(scalar()), maps});
      }
      case KeyKind::overlays:
        return overlays();
      case KeyKind::axes:
        return layer == Layer::over ? axes_over() : axes(range());
      case KeyKind::zipped_axes:
        return list_of(axes(range()), least_of(layer));
      case KeyKind::point_or_sources:
        return map_of(any_of({axis_value(), reference(row.section(), Layer::whole)}));
      case KeyKind::texts_or_sources:
        return map_of(any_of({scalar(), reference(row.section(), Layer::whole)}));
      case KeyKind::text_or_sources:
        return any_of({scalar(), map_of(any_of({scalar(), reference(row.section(), Layer::whole)}))});
      case KeyKind::choice_or_map:
        return any_of({{{"enum", row.words}}, reference(row.section(), Layer::whole)});
      default:
        return simple_shape(row, layer);
    }
  }

  Json axes_over() {
    Json json = axes(range());
    json["additionalProperties"] = over_or_null(axis_of(axis_values(), range()), Layer::over);
    json.erase("properties");
    return json;
  }

  /// Profiles: the file's own keys, but for those that no profile can change.
  Json overlays() {
    const bool outer = std::exchange(in_profile_, true);
    Json profile = map_of_section(experiment_keys(), Layer::over);
    in_profile_ = outer;
    definitions_["profile"] = std::move(profile);
    return {{"type", "object"}, {"additionalProperties", over_or_null({{"$ref", "#/definitions/profile"}}, Layer::over)}};
  }

  /// Keys that stand only together, or never.
  static void add_relations(Json& json, const KeySection& section) {
    if (&section == &experiment_keys()) json["not"] = {{"required", {"trainer", "command"}}};
    if (&section == &report_keys()) json["dependencies"] = {{"rows", Json::array({"at"})}, {"at", Json::array({"rows"})}};
    if (&section == &reference_keys())
      json["anyOf"] = {{{"required", Json::array({"low"})}}, {{"required", Json::array({"high"})}}};
    if (&section == &range_keys())
      json["oneOf"] = {{{"required", Json::array({"step"})}}, {{"required", Json::array({"times"})}}};
    if (&section == &import_keys()) json["not"] = {{"required", {"files", "table"}}};
  }

  static Json over_or_null(Json shape, Layer layer) {
    return layer == Layer::over ? any_of({std::move(shape), {{"type", "null"}}}) : shape;
  }

  /// What merges may have an empty list: it removes that of the file.
  static int least_of(Layer layer) { return layer == Layer::whole ? 1 : 0; }
  static Json simple_shape(const KeyRow& row, Layer layer);
  static Json list_shape(const KeyRow& row, Layer layer);

  Json definitions_ = Json::object();
  bool in_profile_ = false;
};

Json SchemaWriter::simple_shape(const KeyRow& row, Layer layer) {
  switch (row.kind) {
    case KeyKind::text:
    case KeyKind::expression:
      return scalar();
    case KeyKind::filled_text:
      return matching(kFilled);
    case KeyKind::plain_name:
      return matching(kPlainName);
    case KeyKind::identifier:
      return {{"type", {"string", "boolean"}}, {"pattern", kIdentifier}};
    case KeyKind::flag:
      return {{"type", "boolean"}};
    case KeyKind::integer:
      return integers_of(row);
    case KeyKind::integers:
      return list_of(integers_of(row));
    case KeyKind::number:
      return {{"type", "number"}};
    case KeyKind::duration:
      return {{"type", {"string", "number"}}, {"pattern", kDuration}, {"exclusiveMinimum", 0}};
    case KeyKind::duration_or_0:
      return {{"type", {"string", "number"}}, {"pattern", kDuration}, {"minimum", 0}};
    case KeyKind::percentage:
      return {{"type", "string"}, {"pattern", kPercentage}};
    case KeyKind::choice:
      return {{"enum", row.words}};
    default:
      return list_shape(row, layer);
  }
}

Json SchemaWriter::list_shape(const KeyRow& row, Layer layer) {
  switch (row.kind) {
    case KeyKind::texts:
      return list_of(scalar(), least_of(layer));
    case KeyKind::texts_or_none:
      return list_of(scalar(), 0);
    case KeyKind::text_or_texts:
      return any_of({matching(kFilled), list_of(scalar(), row.name == "use" ? 0 : 1)});
    case KeyKind::line_or_texts:
      return any_of({matching(kFilled), list_of(scalar())});
    case KeyKind::points:
      return list_of(map_of(axis_value()), least_of(layer));
    case KeyKind::values:
    case KeyKind::texts_by_name:
      return map_of(over_or_null(scalar(), layer));
    case KeyKind::expressions:
      return any_of({scalar(), list_of(scalar(), least_of(layer))});
    case KeyKind::condition:
      return condition();
    case KeyKind::conditions:
      return list_of(condition(), least_of(layer));
    case KeyKind::point:
      return map_of(axis_value());
    default:
      return Json::object();
  }
}

std::string printed(const char* title, const Json& schema, const SchemaWriter& writer) {
  Json json = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  json.update(schema);
  json["definitions"] = writer.definitions();
  return json.dump(1) + "\n";
}

}  // namespace

std::string experiment_schema() {
  SchemaWriter writer;
  const Json whole = writer.reference(experiment_keys(), Layer::whole);
  const Json over = writer.reference(experiment_keys(), Layer::over);
  const Json line = {{"if", {{"properties", {{"shell", {{"const", true}}}}}, {"required", Json::array({"shell"})}}},
                     {"then", {{"properties", {{"command", scalar()}}}}},
                     {"else", {{"properties", {{"command", {{"type", "array"}}}}}}}};
  return printed(
      "an experiment of hpcbench",
      {{"if", {{"required", Json::array({"use"})}}}, {"then", over}, {"else", {{"allOf", Json::array({whole, line})}}}},
      writer);
}

std::string site_schema() {
  SchemaWriter writer;
  const Json over = writer.reference(site_keys(), Layer::over);
  return printed("a site of hpcbench", {{"allOf", Json::array({over})}}, writer);
}

}  // namespace hpcbench
