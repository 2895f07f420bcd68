#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpcbench {

/// A glob whose `{name}`s stand for parts of the names of folders and files: `runs/bs{batch}_lr{lr}/log.txt`. Braces around
/// anything that is no name are plain characters.
class NamedGlob {
 public:
  /// `folder` has no special characters and stands before the glob, unless that is absolute.
  NamedGlob(const std::string& folder, const std::string& glob);

  /// In the order of the glob, each once.
  const std::vector<std::string>& names() const { return names_; }
  /// As glob(3) takes it, with `*` for each name.
  std::string glob() const;

  /// The values in a path that the glob matches.
  struct Reading {
    std::vector<std::pair<std::string, std::string>> values;  // of the names
    std::vector<std::string> others;                          // what `*`, `?` and `[...]` before the last name stand for
    std::string folder;                                       // the folder up to the last name, or that of the file
  };
  /// All ways to read a path, those with the shortest first values first; empty where it does not match. A name that stands
  /// twice has one value. Total, in bounded time.
  std::vector<Reading> read(std::string_view path) const;

 private:
  struct Token {
    enum class Kind { literal, any, one, set, name };
    Kind kind = Kind::literal;
    std::string text;
  };
  class Matcher;
  std::vector<Token> tokens_;
  std::vector<std::string> names_;
};

}  // namespace hpcbench
