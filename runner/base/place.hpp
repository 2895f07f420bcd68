#pragma once

#include <string>

namespace hpcbench {

/// A position in a text file. Lines and columns count from 1; columns count characters, not bytes.
struct Place {
  std::string file;
  int line = 1;
  int column = 1;
};

/// Returns `file:line:column`, the beginning of every message.
inline std::string describe(const Place& place) {
  return place.file + ':' + std::to_string(place.line) + ':' + std::to_string(place.column);
}

}  // namespace hpcbench
