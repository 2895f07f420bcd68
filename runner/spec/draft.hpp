#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "spec/complaints.hpp"
#include "spec/experiment.hpp"
#include "spec/yaml_tree.hpp"

namespace hpcbench {

// An experiment on its way from the tree to the checks: each part still knows the nodes that it was read from. A part that
// could not be read is left out (and complained about), so that checks speak only of what is there.

class MapReader;

struct AxisDraft {
  Axis axis;  // no values: the axis is there, but what it holds could not be read
  YamlSpot name_spot;
  const YamlNode* node = nullptr;
};

/// `condition[i]` was read from `node->keys[i]` and `node->items[i]`; or it is an expression, and `condition` is empty.
struct ConditionDraft {
  Condition condition;
  const YamlNode* node = nullptr;
  bool inherited = false;  // from the file, under a profile or --set: its values need not be there
  std::optional<LocatedExpression> expression = {};
};

struct DerivedDraft {
  Derived derived;
  YamlSpot name_spot;
};

/// `point[i]` was read from `node->keys[i]` and `node->items[i]`.
struct PointDraft {
  Bindings point;
  const YamlNode* node = nullptr;
};

struct OverrideDraft {
  Override override_;
  ConditionDraft when;
  const YamlNode* node = nullptr;
};

struct ImportDraft {
  Import import;
  std::optional<ConditionDraft> run;
  const YamlNode* needs_run = nullptr;  // the entry, where it says no `run` and is no table: right if there is but one point
};

struct Draft {
  Experiment experiment;  // all but what stands below
  const YamlNode* root = nullptr;
  const YamlNode* site_root = nullptr;  // null where there is no site
  std::vector<AxisDraft> matrix;
  std::vector<std::vector<AxisDraft>> zip;
  std::vector<ConditionDraft> exclude;
  std::vector<PointDraft> include;
  std::vector<OverrideDraft> overrides;
  std::vector<ImportDraft> imports;
  std::optional<ConditionDraft> baseline;
  std::optional<ConditionDraft> where;
  std::vector<DerivedDraft> derive;
  /// Expressions of the file under a profile or --set: values that they name need not be there.
  std::set<std::size_t> inherited_expressions;

  /// All axes in table order: matrix, zip, those that only `include` names.
  std::vector<const AxisDraft*> product_axes() const;
  std::vector<std::string> axis_names() const;
};

/// Reads every key of a file on top of `draft` (which holds defaults and what the site says). Types, forms and single values
/// are checked here; what depends on other keys is in checks.hpp. `root` must outlive the draft.
void read_draft(const YamlNode& root, Draft& draft, Complaints& complaints);
/// Reads a profile alone, for its complaints: nothing is required, and `experiment` and `profiles` are refused.
void check_profile(const YamlNode& profile, const Draft& base, Complaints& complaints);

// The parts, one file each.
void read_points(MapReader& reader, Draft& draft, Complaints& complaints);   // read_points.cpp
void read_work(MapReader& reader, Draft& draft, Complaints& complaints);     // read_work.cpp
void read_derived(MapReader& reader, Draft& draft, Complaints& complaints);  // read_derived.cpp
/// A name that placeholders can use and that hpcbench does not use itself; a complaint otherwise.
bool check_name(const YamlKey& key, const std::string& what, Complaints& complaints);  // read_points.cpp
std::optional<ConditionDraft> read_condition(const YamlNode& node, const std::string& what, bool lists, Complaints& complaints);
/// The same, or an expression: what conditions on points may be.
std::optional<ConditionDraft> read_point_condition(const YamlNode& node, const std::string& what, Complaints& complaints);
std::optional<Bindings> read_bindings(const YamlNode& node, const std::string& what, Complaints& complaints);
void read_imports(const YamlNode& node, Draft& draft, Complaints& complaints);  // read_import.cpp
/// `imported`: metrics of an import, which may name no file.
std::optional<std::vector<Metric>> read_metrics(MapReader& reader, bool imported, Complaints& complaints);  // read_metrics.cpp
/// Compiles a regular expression as `ingest` will.
void check_pattern(const YamlNode& node, const std::string& pattern, Complaints& complaints);
void read_report(const YamlNode& node, Draft& draft, Complaints& complaints);  // read_report.cpp

}  // namespace hpcbench
