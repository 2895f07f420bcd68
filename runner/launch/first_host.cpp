#include "launch/first_host.hpp"

#include <unistd.h>

#include <cstdlib>

#include "base/text.hpp"

namespace hpcbench {

std::optional<std::string> first_host(std::string_view list) {
  std::string host;
  bool in_range = false;  // between brackets: of `07-12,20` the first number counts
  bool number_ended = false;
  for (const char c : list) {
    if (!in_range && c == ',') break;
    if (c == '[' || c == ']') {
      in_range = c == '[';
      number_ended = false;
    } else if (!in_range || !(number_ended = number_ended || c == '-' || c == ',')) {
      host += c;
    }
  }
  return host.empty() || in_range ? std::nullopt : std::optional(host);
}

bool is_on_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    if (::access(((folder.empty() ? "." : folder) + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace hpcbench
