#include "base/text.hpp"

#include <cstdio>

namespace hpcbench::train {

std::string decimals(double value, int count) {
  char text[400];  // the largest double has 309 digits
  std::snprintf(text, sizeof text, "%.*f", count, value);
  return text;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace hpcbench::train
