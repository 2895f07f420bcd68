#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jube/draft.hpp"
#include "jube/jube_tree.hpp"

namespace hpcbench {

/// One parameter of JUBE, in a form for an experiment file.
struct JubeParameter {
  enum class Kind { values, formula, unfilled };
  Kind kind = Kind::values;
  std::string jube_name;
  std::string name;                 // in the experiment file, where `seed` and others have another meaning
  std::vector<std::string> values;  // with references to other parameters, as in JUBE
  std::string formula;              // an expression of hpcbench
  std::string follows;              // the parameter whose values go together with these, one for one
  std::string separator;            // of values; empty: none
  std::string why;                  // unfilled: what the user must know
  bool exported = false;
  bool is_python = false;  // unfilled: of a script in Python
  SourceLocation place;
};

/// The parameters that a step sees. Names without a value stay placeholders, which `check` refuses: no run starts with a value
/// that the user did not choose.
class JubeParameters {
 public:
  JubeParameters(std::string benchmark, std::string step, std::string home)
      : benchmark_(std::move(benchmark)), step_(std::move(step)), home_(std::move(home)) {}

  /// Adds one `parameter` of a set; `duplicate` is the set's. It replaces an earlier one of the same name.
  void add(const JubeNode& node, const std::string& duplicate, Draft& draft);
  /// Records that sets are missing: a name without a value may belong to them.
  void mark_incomplete() { incomplete_ = true; }
  /// Enters another step of the chain: sets the values of `$jube_step_name` and `$jube_wp_abspath`.
  void enter(std::string step, std::string folder) {
    step_ = std::move(step);
    folder_ = std::move(folder);
  }
  /// Call after all are added: turns scripts of simple arithmetic into formulas, or into lists that follow another parameter.
  void resolve();
  /// Writes `matrix`, `zip`, `parameters`, `derive` and `environment`.
  void write(Draft& draft) const;
  /// Returns a text of JUBE with placeholders. A parameter composed of others is written out.
  std::string fill(const std::string& text, const SourceLocation& place, const std::string& key, Draft& draft) const;
  /// Returns the text without placeholders; nullopt if a name has several values or none.
  std::optional<std::string> constant(const std::string& text) const;
  /// Returns a script as an expression; nullopt if the language cannot express it. `measured`: names of metrics; decimals and
  /// `/` are then exact, too.
  std::optional<std::string> expression(const std::string& script, const std::set<std::string>* measured) const;
  /// Returns a file's name relative to the JUBE file if it begins with `$jube_benchmark_home`, filled in; else unchanged.
  std::string beside(const std::string& path) const;
  const JubeParameter* find(const std::string& jube_name) const;

 private:
  static constexpr int kDeepestReference = 5;  // as in JUBE

  bool is_integer(const JubeParameter& parameter) const;
  const JubeParameter* behind(const JubeParameter* parameter) const;
  bool is_template(const JubeParameter& parameter) const;
  /// Returns whether JUBE gives the name a value that is missing here.
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
