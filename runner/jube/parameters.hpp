#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jube/draft.hpp"
#include "jube/jube_tree.hpp"

namespace hpcbench {

/// One parameter of JUBE, as an experiment file can say it.
struct JubeParameter {
  enum class Kind { values, formula, unfilled };
  Kind kind = Kind::values;
  std::string jube_name;
  std::string name;                 // in the experiment file: `seed` and others mean something else there
  std::vector<std::string> values;  // with references to other parameters, as JUBE has them
  std::string formula;              // an expression of hpcbench
  std::string follows;              // goes together with this parameter's values, one for one
  std::string separator;            // of values; empty: none
  std::string why;                  // unfilled: what a person must know
  bool exported = false;
  bool is_python = false;  // unfilled: of a script in Python
  SourceLocation place;
};

/// The parameters that a step sees. Names that nothing gives a value stay placeholders that `check` refuses: no run is started
/// with a value that was not chosen.
class JubeParameters {
 public:
  JubeParameters(std::string benchmark, std::string step, std::string home)
      : benchmark_(std::move(benchmark)), step_(std::move(step)), home_(std::move(home)) {}

  /// One `parameter` of a set; `duplicate` is that of the set. A later one of the same name replaces the earlier.
  void add(const JubeNode& node, const std::string& duplicate, Draft& draft);
  /// Not all sets are there: names that nothing else gives a value are among what is missing.
  void mark_incomplete() { incomplete_ = true; }
  /// Of another step of the chain: what `$jube_step_name` and `$jube_wp_abspath` stand for there.
  void enter(std::string step, std::string folder) {
    step_ = std::move(step);
    folder_ = std::move(folder);
  }
  /// Once all are there: scripts that are simple arithmetic become formulas, or lists that go with another one.
  void resolve();
  /// `matrix`, `zip`, `parameters`, `derive` and `environment`.
  void write(Draft& draft) const;
  /// A text of JUBE with placeholders. A parameter made of others is written out.
  std::string fill(const std::string& text, const SourceLocation& place, const std::string& key, Draft& draft) const;
  /// The same without placeholders; absent where a name has several values or none.
  std::optional<std::string> constant(const std::string& text) const;
  /// A script as an expression; absent where it says more than the language can. `measured`: names of metrics; then decimals
  /// and `/` are exact, too.
  std::optional<std::string> expression(const std::string& script, const std::set<std::string>* measured) const;
  /// A file's name relative to the JUBE file where it begins with `$jube_benchmark_home`, filled in; else as it is.
  std::string beside(const std::string& path) const;
  const JubeParameter* find(const std::string& jube_name) const;

 private:
  static constexpr int kDeepestReference = 5;  // as JUBE

  bool is_integer(const JubeParameter& parameter) const;
  const JubeParameter* behind(const JubeParameter* parameter) const;
  bool is_template(const JubeParameter& parameter) const;
  /// Whether JUBE gives the name a value that is not here.
  bool is_missing(const std::string& name) const;
  bool resolve_lookup(JubeParameter& parameter);
  static bool resolve_literal(JubeParameter& parameter);
  static bool is_cut(const JubeParameter& parameter, const std::string& value);
  void fill_into(std::string& into, const std::string& text, int depth, const SourceLocation& place, const std::string& key,
                 Draft& draft) const;
  std::string fill_builtin(const std::string& name, const SourceLocation& place, const std::string& key, Draft& draft) const;
  void write_size(const JubeParameter& parameter, Draft& draft) const;
  void write_values(const JubeParameter& parameter, Draft& draft) const;

  std::string benchmark_;
  std::string step_;
  std::string home_;
  std::string folder_ = "{{run_dir}}";
  std::vector<JubeParameter> parameters_;
  bool incomplete_ = false;
};

}  // namespace hpcbench
