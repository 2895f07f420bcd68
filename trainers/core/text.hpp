#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench::train {

/// The arguments as an ostream prints them, one after the other. (LibTorch brings an fmt of its own, so none is used here.)
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// " (did you mean `X`?)" for the candidate that is near enough to be meant (edit distance at most a third of the length, and
/// at most 2), else nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace hpcbench::train
