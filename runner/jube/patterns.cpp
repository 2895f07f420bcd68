#include "jube/patterns.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "jube/references.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLongestPattern = 4000;

struct NamedPattern {
  std::string_view name;
  std::string_view pattern;
};
constexpr NamedPattern kJubePatterns[] = {{"jube_pat_int", R"(([+-]?\d+))"},
                                          {"jube_pat_nint", R"((?:[+-]?\d+))"},
                                          {"jube_pat_fp", R"(([+-]?(?:\d*\.?\d+(?:[eE][-+]?\d+)?|\d+\.)))"},
                                          {"jube_pat_nfp", R"((?:[+-]?(?:\d*\.?\d+(?:[eE][-+]?\d+)?|\d+\.)))"},
                                          {"jube_pat_wrd", R"((\S+))"},
                                          {"jube_pat_nwrd", R"((?:\S+))"},
                                          {"jube_pat_bl", R"((?:\s+))"}};

struct Suffix {
  std::string_view jube;
  std::string_view take;
};
constexpr Suffix kSuffixes[] = {{"_first", "first"}, {"_last", "last"}, {"_min", "min"}, {"_max", "max"},
                                {"_sum", "sum"},     {"_cnt", "count"}, {"_avg", "mean"}};

/// Returns a formula that JUBE converts to int: it drops the digits behind the point, also below 0.
std::string cut(const std::string& formula) {
  const bool may_have_decimals = formula.find_first_not_of("0123456789") != std::string::npos;
  return may_have_decimals ? fmt::format("max(floor({0}), min(ceil({0}), 0))", formula) : formula;
}

class ResultWriter {
 public:
  ResultWriter(const JubeParameters& parameters, JubeSets& sets, Draft& draft)
      : parameters_(parameters), sets_(sets), draft_(draft) {}

  void add_analyser(const JubeNode& analyser, const std::vector<const JubeNode*>& chain) {
    const std::vector<const JubeNode*> everywhere = sets_.used_by(analyser, "metrics", draft_);
    for (const JubeNode* analyse : analyser.all("analyse")) {
      const std::string step = analyse->attribute("step");
      const auto found =
          std::find_if(chain.begin(), chain.end(), [&](const JubeNode* each) { return each->attribute("name") == step; });
      if (found == chain.end()) {
        draft_.note(analyse->place, "metrics",
                    fmt::format("what analyses the step `{}` is left out with it: `--step {}`", step, step));
        continue;
      }
      const std::string folder = *found == chain.back() ? "" : step + "/";
      for (const JubeNode* file : analyse->all("file")) {
        std::vector<const JubeNode*> used = everywhere;
        const std::vector<const JubeNode*> own = own_sets(*file);
        used.insert(used.end(), own.begin(), own.end());
        for (const std::string& name : split(file->text, ',')) add_patterns(used, folder, std::string(trim(name)), *file);
      }
    }
  }

  void add_scripts() {
    for (const JubeNode* pattern : scripts_) {
      const std::string name = pattern->attribute("name");
      if (measured_.contains(name)) continue;
      for (const JubePiece& piece : jube_pieces(pattern->text)) {
        if (piece.is_name) add_taken(piece.text, pattern->place);
      }
      const std::optional<std::string> formula = formula_of(*pattern);
      if (!formula) {
        draft_.note(pattern->place, "metrics",
                    fmt::format("{}: mode=\"{}\": `{}` is no formula of hpcbench over metrics and whole-number parameters that "
                                "it has: write `formula`",
                                name, pattern->attribute("mode"), pattern->text));
        continue;
      }
      const std::string value = pattern->attribute("type") == "int" ? cut(*formula) : *formula;
      add_metric(name, fmt::format("formula: {}{}", json_quote(value), unit_of(*pattern)));
    }
  }

  void add_result(const JubeNode& result) {
    for (const JubeNode& shown : result.children) {
      if (shown.tag == "table") add_table(shown);
      if (shown.tag == "syslog")
        draft_.note(shown.place, "report", "syslog has no counterpart: `hpcbench report --format json`");
      if (shown.tag == "database") draft_.note(shown.place, "report", "results/hpcbench.db holds each run: docs/database.md");
    }
  }

 private:
  static std::string unit_of(const JubeNode& pattern) {
    const std::string unit = pattern.attribute("unit");
    return unit.empty() ? "" : ", unit: " + json_quote(unit);
  }

  std::vector<const JubeNode*> own_sets(const JubeNode& file) {
    JubeNode user;
    for (const std::string& name : split(file.attribute("use"), ',')) {
      if (trim(name).empty()) continue;
      JubeNode use;
      use.text = trim(name);
      use.place = file.place;
      user.children.push_back(std::move(use));
      user.children.back().tag = "use";
    }
    return sets_.used_by(user, "metrics", draft_);
  }

  void add_metric(const std::string& name, const std::string& rest) {
    measured_.insert(name);
    draft_.lists["metrics"].push_back(fmt::format("{{name: {}, {}}}", yaml_text(name), rest));
  }

  void add_patterns(const std::vector<const JubeNode*>& sets, const std::string& folder, const std::string& file,
                    const JubeNode& said) {
    const std::optional<std::string> plain = parameters_.constant(file);
    if (!plain || plain->find('$') != std::string::npos) {
      draft_.note(said.place, "metrics",
                  fmt::format("FILL IN metrics: the file `{}` has another name for each point, or one that nothing here gives: "
                              "name it by a pattern such as `out.*`",
                              file));
      return;
    }
    std::string name = *plain;
    if (folder.empty() && (name == "stdout" || name == "stderr")) name += ".log";
    for (const JubeNode* set : sets) {
      if (set->tag != "patternset") continue;
      for (const JubeNode* pattern : set->all("pattern")) add_pattern(*pattern, folder + name);
    }
  }

  void add_pattern(const JubeNode& pattern, const std::string& file) {
    const std::string name = pattern.attribute("name");
    const std::string mode = pattern.attribute("mode");
    if (!mode.empty() && mode != "pattern") {
      if (std::find(scripts_.begin(), scripts_.end(), &pattern) == scripts_.end()) scripts_.push_back(&pattern);
      return;
    }
    if (const auto known = rests_.find(name); known != rests_.end()) {
      draft_.note(
          pattern.place, "metrics",
          fmt::format("{} is read from its first file alone, not from `{}`: a metric has one `file`, which may be a pattern",
                      name, file));
      return;
    }
    const std::optional<std::string> regex = regex_of(pattern);
    if (!regex) return;
    const std::string otherwise = pattern.attribute("default");
    if (!otherwise.empty()) {
      draft_.note(pattern.place, "metrics",
                  fmt::format("{}: default=\"{}\" has no counterpart: a value that is absent stays absent", name, otherwise));
    }
    if (pattern.attribute("type") == "int" &&
        (pattern.text.find("jube_pat_fp") != std::string::npos || pattern.text.find("\\.") != std::string::npos)) {
      draft_.note(pattern.place, "metrics",
                  fmt::format("{}: type=\"int\": JUBE cuts what stands behind the point, which stays here", name));
    }
    rests_[name] = fmt::format("file: {}, pattern: {}{}", yaml_text(file), json_quote(*regex), unit_of(pattern));
    add_metric(name, rests_[name] + ", take: first");
  }

  /// Handles a script in Python, or a text that is one name; other texts are no metric.
  std::optional<std::string> formula_of(const JubeNode& pattern) const {
    const std::string mode = pattern.attribute("mode");
    const std::vector<JubePiece> pieces = jube_pieces(pattern.text);
    const bool is_name = mode == "text" && pieces.size() == 1 && pieces.front().is_name;
    return mode == "python" || is_name ? parameters_.expression(pattern.text, &measured_) : std::nullopt;
  }

  /// Returns the pattern with JUBE's own patterns and constants written out; nullopt, with a note, if hpcbench cannot read it.
  std::optional<std::string> regex_of(const JubeNode& pattern) {
    const std::string name = pattern.attribute("name");
    const auto refuse = [&](const std::string& why) {
      draft_.note(pattern.place, "metrics", fmt::format("{}: `{}`: {}", name, pattern.text, why));
      return std::nullopt;
    };
    if (pattern.attribute("type") == "string") return refuse("a metric is a number; check a text by `success: {pattern: ...}`");
    std::string regex;
    for (const JubePiece& piece : jube_pieces(pattern.text)) {
      const auto* const own = std::find_if(std::begin(kJubePatterns), std::end(kJubePatterns),
                                           [&](const NamedPattern& each) { return each.name == piece.text; });
      const JubeParameter* const parameter = piece.is_name ? parameters_.find(piece.text) : nullptr;
      const std::optional<std::string> value = parameter == nullptr ? std::nullopt : parameters_.constant(piece.written);
      if (piece.is_name && own != std::end(kJubePatterns)) {
        regex += own->pattern;
      } else if (parameter != nullptr && !value) {
        return refuse("a pattern is the same for all points: match any value where the parameter stands");
      } else {
        regex += value ? *value : piece.is_name ? piece.written : piece.text;
      }
      if (regex.size() > kLongestPattern) return refuse("it is too long");
    }
    if (regex.ends_with("\\n") && !regex.ends_with("\\\\n")) regex.replace(regex.size() - 2, 2, "$");
    if (regex.starts_with("\\n")) regex.replace(0, 2, "^");
    if (pattern.has_flag("dotall") || regex.find("\\n") != std::string::npos || regex.find('\n') != std::string::npos)
      return refuse("FILL IN metrics: a pattern sees one line at a time: name one of the lines");
    const RE2 read(regex, RE2::Quiet);
    if (!read.ok()) return refuse("RE2, which reads patterns here, has no look-around and no back references");
    if (read.NumberOfCapturingGroups() > 1) {
      draft_.note(
          pattern.place, "metrics",
          fmt::format("FILL IN metrics: {}: JUBE takes what any of its {} groups matches, hpcbench the first alone: write "
                      "`(?:` for the others",
                      name, read.NumberOfCapturingGroups()));
    }
    return regex;
  }

  /// Adds `NAME_avg` and the like at its first use.
  void add_taken(const std::string& name, const SourceLocation& place) {
    if (measured_.contains(name)) return;
    for (const Suffix& suffix : kSuffixes) {
      if (!name.ends_with(suffix.jube)) continue;
      const auto base = rests_.find(name.substr(0, name.size() - suffix.jube.size()));
      if (base != rests_.end()) return add_metric(name, fmt::format("{}, take: {}", base->second, suffix.take));
    }
    const bool deviation = name.ends_with("_std") && rests_.contains(name.substr(0, name.size() - 4));
    if (deviation) {
      draft_.note(place, "metrics",
                  fmt::format("{}: no `take` is a deviation within a run; between runs the report has intervals", name));
    }
  }

  void add_table(const JubeNode& table) {
    std::vector<std::string> columns;
    std::string metric;
    for (const JubeNode* column : table.all("column")) {
      const std::string name = column->text;
      add_taken(name, column->place);
      const JubeParameter* const parameter = parameters_.find(name);
      if (measured_.contains(name)) {
        columns.push_back("metric:" + name);
        if (metric.empty()) metric = name;
      } else if (parameter != nullptr && is_shown(parameter->name)) {
        columns.push_back(parameter->name);
      } else {
        draft_.note(column->place, "report", fmt::format("the column `{}` is left out: {}", name, why_no_column(parameter)));
        continue;
      }
      if (!column->attribute("title").empty()) columns.back() += "=" + column->attribute("title");
    }
    const std::string filter = table.attribute("filter");
    if (!filter.empty()) draft_.note(table.place, "report", fmt::format("filter=\"{}\": write `where`, or --where", filter));
    if (draft_.maps.contains("report")) {
      draft_.note(
          table.place, "report",
          fmt::format("the table `{}` is left out: a report is one table; `--columns` shows others", table.attribute("name")));
      return;
    }
    if (!metric.empty()) draft_.set("report", "metric", yaml_text(metric));
    if (!columns.empty()) draft_.set("report", "columns", yaml_texts(columns));
    add_sort(table);
  }

  static std::string_view why_no_column(const JubeParameter* parameter) {
    if (parameter == nullptr) return "nothing that is translated here has that name";
    if (parameter->kind == JubeParameter::Kind::unfilled) return "its values are not filled in yet";
    return "it is no axis, and the same in all rows";
  }

  void add_sort(const JubeNode& table) {
    std::vector<std::string> sorted;
    for (const std::string& word : split(table.attribute("sort"), ',')) {
      const JubeParameter* const parameter = parameters_.find(std::string(trim(word)));
      if (parameter != nullptr && is_shown(parameter->name)) {
        sorted.push_back(parameter->name);
      } else if (!trim(word).empty()) {
        draft_.note(table.place, "report",
                    fmt::format("sort=\"{}\": the report sorts by axes and its own columns", trim(word)));
      }
    }
    if (!sorted.empty()) draft_.set("report", "sort", yaml_texts(sorted));
  }

  /// Returns whether the name is an axis or a derived value: these are columns.
  bool is_shown(const std::string& name) const {
    for (const std::string_view key : {"matrix", "derive"}) {
      const auto map = draft_.maps.find(std::string(key));
      if (map == draft_.maps.end()) continue;
      if (std::any_of(map->second.begin(), map->second.end(), [&](const auto& entry) { return entry.first == name; }))
        return true;
    }
    const auto zip = draft_.lists.find("zip");
    return zip != draft_.lists.end() && std::any_of(zip->second.begin(), zip->second.end(), [&](const std::string& item) {
             return ("\n" + item).find("\n" + name + ": ") != std::string::npos;
           });
  }

  const JubeParameters& parameters_;
  JubeSets& sets_;
  Draft& draft_;
  std::map<std::string, std::string> rests_;  // of metrics with a pattern: all keys but name and take
  std::set<std::string> measured_;
  std::vector<const JubeNode*> scripts_;
};

}  // namespace

void write_results(const JubeNode& benchmark, const std::vector<const JubeNode*>& chain, const JubeParameters& parameters,
                   JubeSets& sets, Draft& draft) {
  ResultWriter writer(parameters, sets, draft);
  for (const JubeNode& node : benchmark.children) {
    if (node.tag == "analyser" || node.tag == "analyzer") writer.add_analyser(node, chain);
  }
  writer.add_scripts();
  for (const JubeNode* result : benchmark.all("result")) writer.add_result(*result);
}

}  // namespace hpcbench
