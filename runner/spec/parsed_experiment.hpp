#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "spec/experiment.hpp"
#include "yaml/diagnostics.hpp"
#include "yaml/yaml_tree.hpp"

namespace hpcbench {

// An experiment on its way from the tree to the checks: each part still knows the nodes that it was read from. A part that
// could not be read is left out (and complained about), so that checks speak only of what is there.

class MapReader;

struct ParsedAxis {
  Axis axis;  // no values: the axis is there, but what it holds could not be read
  SourceLocation name_location;
  const YamlNode* node = nullptr;               // a list, if there are values
  std::shared_ptr<const YamlNode> written_out;  // owns `node` where the file has a range
};

/// `condition[i]` was read from `node->keys[i]` and `node->items[i]`; or it is an expression, and `condition` is empty.
struct ParsedCondition {
  Condition condition;
  const YamlNode* node = nullptr;
  bool inherited = false;  // from the file, under a profile or --set: its values need not be there
  std::optional<LocatedExpression> expression = {};
};

struct ParsedDerived {
  Derived derived;
  SourceLocation name_location;
};

struct ParsedPreparation {
  Preparation preparation;
  SourceLocation name_location;
  const YamlNode* node = nullptr;
};

/// `point[i]` was read from `node->keys[i]` and `node->items[i]`.
struct ParsedPoint {
  Bindings point;
  const YamlNode* node = nullptr;
};

struct ParsedOverride {
  Override override_;
  ParsedCondition when;
  const YamlNode* node = nullptr;
};

struct ParsedImport {
  Import import;
  std::optional<ParsedCondition> run;
  std::shared_ptr<const YamlNode> constants = {};  // owns the node of `run`
  const YamlNode* needs_run = nullptr;  // the entry, where it says no `run` and is no table: right if there is but one point
};

struct ParsedReference {
  MetricReference reference;
  std::optional<ParsedCondition> when;  // absent: every point
};

/// A text that programs are given, and the node that it was read from.
struct GivenText {
  /// When its placeholders are filled in; `modules` for each point, and lists become several.
  enum class Filled { for_run, for_point, modules };
  std::string text;
  const YamlNode* node = nullptr;
  Filled filled = Filled::for_run;
};

/// `repeats: {from: 8, to: 40, until: 3 %}`; what a profile leaves out is the file's.
struct ParsedRepeats {
  const YamlNode* node = nullptr;
  std::optional<long long> from, to;
  std::vector<long long> looks;  // as given; empty: the usual ones
  std::optional<double> until;   // a share
  RepeatRule::Of of = RepeatRule::Of::metric;
};

struct ParsedExperiment {
  Experiment experiment;  // all but what stands below
  const YamlNode* root = nullptr;
  const YamlNode* site_root = nullptr;  // null where there is no site
  std::vector<ParsedAxis> matrix;
  std::vector<std::vector<ParsedAxis>> zip;
  std::vector<ParsedCondition> exclude;
  std::vector<ParsedPoint> include;
  std::vector<ParsedOverride> overrides;
  std::vector<ParsedImport> imports;
  std::optional<ParsedCondition> baseline;
  std::optional<ParsedCondition> where;
  std::vector<ParsedReference> references;
  std::vector<ParsedDerived> derive;
  std::vector<ParsedPreparation> preparations;
  std::optional<ParsedRepeats> repeats;  // where it is a map
  /// Expressions of the file under a profile or --set: values that they name need not be there.
  std::set<std::size_t> inherited_expressions;

  /// All axes in table order: matrix, zip, those that only `include` names.
  std::vector<const ParsedAxis*> product_axes() const;
  std::vector<std::string> axis_names() const;
};

/// Reads every key of a file on top of `parsed` (which holds defaults and what the site says). Types, forms and single values
/// are checked here; what depends on other keys is in checks.hpp. `root` must outlive the parsed experiment.
void read_root(const YamlNode& root, ParsedExperiment& parsed, Diagnostics& diagnostics);
/// Fills in what `repeats` says where it is a map, once all is known to be right.
void settle_repeats(const ParsedExperiment& parsed, Experiment& experiment);
/// Reads a profile alone, for its diagnostics: nothing is required, and `experiment`, `profiles` and `use` are refused.
void check_profile(const YamlNode& profile, const ParsedExperiment& base, Diagnostics& diagnostics);

// The parts, one file each.
void read_points(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics);  // read_points.cpp
void read_work(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics);    // read_work.cpp
void read_resources(const YamlNode& node, Resources& resources, Diagnostics& diagnostics);
void read_start(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics);  // read_start.cpp
/// `environment` of a file or of a site.
std::optional<Variables> read_environment(MapReader& reader, Diagnostics& diagnostics);
/// The hours of `limits`, which `node` is; those that it does not say stay as they are.
void read_cost_limits(MapReader& reader, const YamlNode& node, CostLimits& limits, Diagnostics& diagnostics);
/// `srun` of a file or of a site.
std::optional<std::vector<std::string>> read_srun_options(MapReader& reader, Diagnostics& diagnostics);
std::optional<Container> read_container(MapReader& reader, Diagnostics& diagnostics);
std::optional<std::vector<InputDeck>> read_decks(MapReader& reader, Diagnostics& diagnostics);  // point_values.cpp
/// What its runtime cannot do with this executor and launcher.
void check_container(const ParsedExperiment& parsed, Diagnostics& diagnostics);
/// The texts of `environment`, `srun`, `container`, `partition`, `modules`, `files` and `resources` in the map of a
/// file or an override.
std::vector<GivenText> start_texts(const YamlNode& map);
/// Those of the file, and the site's `environment` and `srun` as far as they count.
std::vector<GivenText> start_texts(const ParsedExperiment& parsed);
/// `prepare`: a map of preparations, or the command of one. This and the next three: spec/preparations.
void read_prepare(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics);
/// Names that mean something else already, and preparations that need each other in a circle. What their placeholders name is
/// checked with all others (check_placeholders).
void check_preparations(const ParsedExperiment& parsed, Diagnostics& diagnostics);
/// What the command of a preparation is given: its arguments, modules and variables.
std::vector<GivenText> texts_of_preparation(const ParsedPreparation& entry);
/// What one names stands before it; else as the file has them. Without circles.
std::vector<Preparation> preparations_in_order(const ParsedExperiment& parsed);
void read_derived(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics);  // read_points.cpp
/// A name that placeholders can use and that hpcbench does not use itself; a diagnostic otherwise.
bool check_name(const YamlKey& key, const std::string& what, Diagnostics& diagnostics);  // read_points.cpp
/// The list that `{from: 1, to: 64, times: 2}` stands for; each item has the place of the range.
std::optional<YamlNode> written_out(const YamlKey& axis, const YamlNode& range, Diagnostics& diagnostics);  // values/range.cpp
/// Complains about a range in the form of another language (`1..8`, `range(1, 8)`), which would be a text. `alone`: it is the
/// whole of the axis, so that `1-8` and `1:8` count, too.
bool refuse_other_range(const YamlKey& axis, const YamlNode& node, bool alone, Diagnostics& diagnostics);  // values/range.cpp
/// Complains about pipes, redirections, `~/` and `$HOME` among the arguments `words` of a command, read from `list`. What
/// follows a shell is its own.
void refuse_shell_syntax(const YamlNode& list, const std::vector<std::string>& words,
                         Diagnostics& diagnostics);  // values/shell_syntax.cpp
std::optional<ParsedCondition> read_condition(const YamlNode& node, const std::string& what, bool lists,
                                              Diagnostics& diagnostics);
/// The same, or an expression: what conditions on points may be.
std::optional<ParsedCondition> read_point_condition(const YamlNode& node, const std::string& what, Diagnostics& diagnostics);
std::optional<Bindings> read_bindings(const YamlNode& node, const std::string& what, Diagnostics& diagnostics);
void read_imports(const YamlNode& node, ParsedExperiment& parsed, Diagnostics& diagnostics);  // read_import.cpp
/// `imported`: metrics of an import, which may name no file. `described` receives entries without a source, which only
/// describe values of events and imports; null refuses them.
DecimalMark read_decimal_mark(MapReader& reader);  // read_metrics.cpp
std::optional<std::vector<Metric>> read_metrics(MapReader& reader, bool imported, Diagnostics& diagnostics,
                                                std::vector<Metric>* described = nullptr);  // read_metrics.cpp
/// Compiles a regular expression as `ingest` will.
void check_pattern(const YamlNode& node, const std::string& pattern, Diagnostics& diagnostics);
void read_report(const YamlNode& node, ParsedExperiment& parsed, Diagnostics& diagnostics);  // read_report.cpp

}  // namespace hpcbench
