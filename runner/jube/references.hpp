#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// A piece of a text of JUBE: a name, written `$name` or `${name}`, or the text between names. `$$` is a `$`.
struct JubePiece {
  bool is_name = false;
  std::string text;
  std::string written;  // the original spelling
};
std::vector<JubePiece> jube_pieces(std::string_view text);

/// Returns whether a relative path in a text leads three folders up or more: out of JUBE's folder of a step, which is nested
/// differently from a run's.
bool climbs_out(std::string_view text);

}  // namespace hpcbench
