#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// One message with its place, the line, a caret and advice (left out where empty).
std::string located_message(const SourceLocation& location, const std::string& message, const std::string& advice);

/// Collects the errors of a file, so that a person sees all of them at once.
class Diagnostics {
 public:
  /// Messages are sorted by source, in the order in which sources were made known (or first complained about).
  void know(const YamlSource& source);
  /// The same message for the same place is kept once.
  void add(const SourceLocation& location, const std::string& message, const std::string& advice = "");
  bool empty() const { return diagnostics_.empty(); }
  /// How often `add` was called, repeated messages too: whether something was wrong in between.
  std::size_t made() const { return made_; }
  /// So many that the search for more ends.
  bool full() const { return diagnostics_.size() >= kMostShown; }
  /// Throws all of them, sorted by place, as one InputError; nothing if there are none.
  void throw_if_any() const;

 private:
  static constexpr std::size_t kMostShown = 100;
  struct Diagnostic {
    SourceLocation location;
    std::string message;
    std::string advice;
  };
  std::vector<Diagnostic> diagnostics_;
  std::size_t made_ = 0;
  std::vector<const YamlSource*> sources_;
  std::set<std::tuple<const YamlSource*, std::size_t, std::string>> seen_;
};

}  // namespace hpcbench
