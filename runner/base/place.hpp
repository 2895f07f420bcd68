#pragma once

#include <string>

namespace hpcbench {

/// Where something stands in a text file. Lines and columns count from 1; columns count characters, not bytes.
struct Place {
  std::string file;
  int line = 1;
  int column = 1;
};

/// `file:line:column`, as every message begins.
inline std::string describe(const Place& place) {
  return place.file + ':' + std::to_string(place.line) + ':' + std::to_string(place.column);
}

}  // namespace hpcbench
