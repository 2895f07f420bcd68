#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "words/did_you_mean.hpp"

namespace hpcbench::train {

/// Returns the arguments as an ostream prints them, one after the other. (LibTorch brings its own fmt, so none is used here.)
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Returns a number with this many decimals: `0.50`.
std::string decimals(double value, int count);

std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace hpcbench::train
