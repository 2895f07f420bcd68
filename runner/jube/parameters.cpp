#include "jube/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "base/value.hpp"
#include "jube/references.hpp"
#include "spec/fields.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMostParameters = 1000;
constexpr std::size_t kLongestFilled = 100'000;

/// Returns another name for a name that hpcbench reserves or refuses.
std::string free_name(const std::string& name) {
  static const std::set<std::string> kTaken = {"gpus", "ranks", "run_dir", "repeat", "seed", "gpu", "ngpus", "node"};
  return kTaken.contains(name) || is_near_gpus_per_node(name) ? "jube_" + name : name;
}

bool is_size_axis(const std::string& name) { return name == "nodes" || name == "gpus_per_node" || name == "ranks_per_node"; }

std::vector<std::string> values_of(const JubeNode& node) {
  std::vector<std::string> values;
  for (const std::string& value : node.parts()) {
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

}  // namespace

void JubeParameters::add(const JubeNode& node, const std::string& duplicate, Draft& draft) {
  JubeParameter parameter;
  parameter.jube_name = node.attribute("name");
  parameter.name = free_name(parameter.jube_name);
  parameter.place = node.place;
  parameter.exported = node.has_flag("export");
  parameter.values = values_of(node);
  parameter.separator = node.separator();
  if (parameter.jube_name.empty()) return draft.note(node.place, "parameters", "a parameter without `name` is left out");
  const std::string mode = node.attribute("mode");
  if (parameter.values.size() < node.parts().size() && (mode.empty() || mode == "text")) {
    draft.note(node.place, "parameters",
               fmt::format("{}: a duplicate value is one point here; `repeats` runs points again", parameter.name));
  }
  if (!mode.empty() && mode != "text") {
    parameter.kind = JubeParameter::Kind::unfilled;
    parameter.values = {node.text};
    parameter.why = fmt::format("mode=\"{}\": `{}`", mode, node.text);
    parameter.is_python = mode == "python";
  }
  if (climbs_out(node.text)) {
    draft.note(node.place, "parameters",
               fmt::format("FILL IN {}: `../../../` leads elsewhere than from JUBE's folder: begin with another path",
                           parameter.name));
  }
  if (parameter.name != parameter.jube_name) {
    draft.note(node.place, "parameters",
               fmt::format("`{}` means something else in hpcbench: here it is `{}`", parameter.jube_name, parameter.name));
  }
  const std::string update = node.attribute("update_mode");
  if (!update.empty() && update != "never") {
    draft.note(node.place, "parameters",
               fmt::format("{}: update_mode=\"{}\" has no counterpart: a point's values are known before it runs",
                           parameter.jube_name, update));
  }
  const auto old = std::find_if(parameters_.begin(), parameters_.end(),
                                [&](const JubeParameter& each) { return each.jube_name == parameter.jube_name; });
  if (old == parameters_.end()) {
    if (parameters_.size() == kMostParameters)
      refuse_jube(node.place, fmt::format("a step has more than {} parameters", kMostParameters));
    parameters_.push_back(std::move(parameter));
    return;
  }
  const std::string own = node.attribute("duplicate");
  if ((own.empty() || own == "none" ? duplicate : own) == "concat") {
    for (const std::string& value : std::exchange(parameter.values, old->values)) {
      if (std::find(parameter.values.begin(), parameter.values.end(), value) == parameter.values.end())
        parameter.values.push_back(value);
    }
  }
  *old = std::move(parameter);
}

const JubeParameter* JubeParameters::find(const std::string& jube_name) const {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const JubeParameter& each) { return each.jube_name == jube_name; });
  return found == parameters_.end() ? nullptr : &*found;
}

bool JubeParameters::is_missing(const std::string& name) const {
  return find(name) == nullptr && (incomplete_ || name.starts_with("jube_"));
}

bool JubeParameters::is_template(const JubeParameter& parameter) const {
  if (parameter.kind != JubeParameter::Kind::values) return false;
  for (const std::string& value : parameter.values) {
    for (const JubePiece& piece : jube_pieces(value)) {
      if (piece.is_name && (find(piece.text) != nullptr || is_missing(piece.text))) return true;
    }
  }
  return false;
}

std::optional<std::string> JubeParameters::constant(const std::string& text) const {
  std::string filled;
  for (const JubePiece& piece : jube_pieces(text)) {
    const JubeParameter* const parameter = piece.is_name ? find(piece.text) : nullptr;
    if (parameter == nullptr) {
      const bool is_home = piece.is_name && piece.text == "jube_benchmark_home" && !home_.empty();
      if (piece.is_name && !is_home && is_missing(piece.text)) return std::nullopt;
      filled += is_home ? home_ : piece.written;
    } else if (parameter->kind == JubeParameter::Kind::values && parameter->values.size() == 1 && !is_template(*parameter)) {
      filled += parameter->values.front();
    } else {
      return std::nullopt;
    }
  }
  return filled;
}

std::string JubeParameters::beside(const std::string& path) const {
  for (const std::string& home : {home_ + "/", std::string("{{jube_benchmark_home}}/")}) {
    if (home.size() > 1 && path.starts_with(home)) return path.substr(home.size());
  }
  return path;
}

std::string JubeParameters::fill(const std::string& text, const SourceLocation& place, const std::string& key,
                                 Draft& draft) const {
  std::string filled;
  fill_into(filled, text, 0, place, key, draft);
  return filled;
}

void JubeParameters::fill_into(std::string& into, const std::string& text, int depth, const SourceLocation& place,
                               const std::string& key, Draft& draft) const {
  if (depth > kDeepestReference)
    refuse_jube(place, fmt::format("parameters that name each other are deeper than {}", kDeepestReference));
  for (const JubePiece& piece : jube_pieces(text)) {
    const JubeParameter* const parameter = piece.is_name ? find(piece.text) : nullptr;
    if (piece.is_name && piece.text.starts_with("jube_") && parameter == nullptr) {
      const std::string builtin = fill_builtin(piece.text, place, key, draft);
      if (builtin.starts_with("{{")) {
        append_placeholder(into, builtin, draft);
      } else {
        into += builtin;
      }
    } else if (parameter == nullptr && piece.is_name && incomplete_) {
      draft.note(place, key, fmt::format("FILL IN {{{{{}}}}}: a set that is not here gives its value", piece.text));
      append_placeholder(into, "{{" + piece.text + "}}", draft);
    } else if (parameter == nullptr) {
      into += piece.is_name ? piece.written : without_placeholders(piece.text, draft);
    } else if (is_template(*parameter) && parameter->values.size() == 1) {
      fill_into(into, parameter->values.front(), depth + 1, place, key, draft);
    } else {
      append_placeholder(into, "{{" + parameter->name + "}}", draft);
    }
    if (into.size() > kLongestFilled)
      refuse_jube(place, fmt::format("with its parameters written out this has more than {} bytes", kLongestFilled));
  }
}

std::string JubeParameters::fill_builtin(const std::string& name, const SourceLocation& place, const std::string& key,
                                         Draft& draft) const {
  if (name == "jube_benchmark_name") return benchmark_;
  if (name == "jube_step_name") return step_;
  if (name == "jube_benchmark_home" && !home_.empty()) {
    draft.set("parameters", name, yaml_text(home_));
    return "{{" + name + "}}";
  }
  const bool in_deck = key == "files";
  if (name == "jube_wp_abspath" && !in_deck) return folder_;
  const std::string advice = name == "jube_wp_abspath"     ? "an input deck cannot name the run's folder: write a relative path"
                             : name == "jube_wp_iteration" ? "`{{repeat}}` counts from 1"
                             : name == "jube_benchmark_home" ? "give `parameters` this name with the folder of JUBE's file"
                                                             : fmt::format("the step's folder is `{}`", folder_);
  draft.note(place, key, fmt::format("FILL IN {{{{{}}}}}: hpcbench has no ${}; {}", name, name, advice));
  return "{{" + name + "}}";
}

void JubeParameters::write_values(const JubeParameter& parameter, Draft& draft) const {
  std::vector<std::string> values;
  for (const std::string& value : parameter.values) {
    const std::optional<std::string> filled = constant(value);
    if (!filled) {
      draft.note(parameter.place, "parameters",
                 fmt::format("FILL IN {}: its values follow from other parameters, as `{}` does; write `matrix`, `zip` or "
                             "`derive`",
                             parameter.name, value));
      return;
    }
    std::string text;
    for (const JubePiece& piece : jube_pieces(*filled)) text += piece.is_name ? piece.written : piece.text;
    values.push_back(text);
  }
  if (!parameter.follows.empty()) return;  // written with the parameter that it follows
  std::string zipped;
  for (const JubeParameter& other : parameters_) {
    if (other.follows == parameter.jube_name)
      zipped += fmt::format("\n{}: {}", yaml_text(other.name), yaml_texts(other.values));
  }
  if (!zipped.empty()) {
    draft.lists["zip"].push_back(fmt::format("{}: {}{}", yaml_text(parameter.name), yaml_texts(values), zipped));
  } else if (values.size() > 1) {
    draft.set("matrix", parameter.name, yaml_texts(values));
  } else {
    draft.set("parameters", parameter.name, yaml_text(values.front()));
  }
}

/// Only an axis states the size of a run: `check` refuses an axis without values.
void JubeParameters::write_size(const JubeParameter& parameter, Draft& draft) const {
  const std::optional<std::string> value = parameter.kind == JubeParameter::Kind::values && parameter.values.size() == 1
                                               ? constant(parameter.values.front())
                                               : std::nullopt;
  if (value) return draft.set("matrix", parameter.name, yaml_texts({*value}));
  if (parameter.kind == JubeParameter::Kind::values && !is_template(parameter)) return write_values(parameter, draft);
  const std::string why = parameter.kind == JubeParameter::Kind::formula ? parameter.formula : parameter.values.front();
  draft.note(parameter.place, "matrix",
             fmt::format("FILL IN {}: `{}`: it determines the size of a run, which must be an axis: write its values under "
                         "`matrix`, or under `zip` beside those that it follows",
                         parameter.name, why));
  draft.set("matrix", parameter.name, "[FILL_IN]");
}

void JubeParameters::write(Draft& draft) const {
  for (const JubeParameter& parameter : parameters_) {
    if (is_size_axis(parameter.name)) {
      write_size(parameter, draft);
    } else if (parameter.kind == JubeParameter::Kind::formula) {
      draft.set("derive", parameter.name, json_quote(parameter.formula));
    } else if (parameter.kind == JubeParameter::Kind::unfilled) {
      draft.note(parameter.place, "parameters",
                 fmt::format("FILL IN {}: {}: write its values out, or `derive` them", parameter.name, parameter.why));
    } else if (parameter.values.size() > 1 || !is_template(parameter)) {
      write_values(parameter, draft);
    }
    if (parameter.exported) {
      draft.set("environment", parameter.jube_name,
                yaml_text(fill("${" + parameter.jube_name + "}", parameter.place, "environment", draft)));
    }
  }
  if (draft.maps["matrix"].empty() && draft.lists["zip"].empty()) draft.set("matrix", "nodes", "[1]");
}

}  // namespace hpcbench
