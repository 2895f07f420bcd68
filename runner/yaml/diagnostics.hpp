#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// Returns one message with its place, the line, a caret and advice (omitted if empty).
std::string located_message(const SourceLocation& location, const std::string& message, const std::string& advice);

/// Collects the errors of a file, so that the user sees all of them at once.
class Diagnostics {
 public:
  /// Registers a source. Messages are sorted by source, in the order of registration or of their first message.
  void know(const YamlSource& source);
  /// Adds a message; the same message at the same place is kept once.
  void add(const SourceLocation& location, const std::string& message, const std::string& advice = "");
  bool empty() const { return diagnostics_.empty(); }
  /// Returns how often `add` was called, including repeated messages, so that a caller can check whether a step found errors.
  std::size_t made() const { return made_; }
  /// Returns whether there are enough errors to stop the search.
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
