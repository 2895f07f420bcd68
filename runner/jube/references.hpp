#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// A piece of a text of JUBE: a name that was `$name` or `${name}`, or what stands between such. `$$` is a `$`.
struct JubePiece {
  bool is_name = false;
  std::string text;
  std::string written;  // as it stood there
};
std::vector<JubePiece> jube_pieces(std::string_view text);

/// Whether a relative path of a text leads three folders up or more: out of JUBE's folder of a step, which has another depth
/// than a run's.
bool climbs_out(std::string_view text);

}  // namespace hpcbench
