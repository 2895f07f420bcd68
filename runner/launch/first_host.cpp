#include "launch/first_host.hpp"

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
      continue;
    }
    number_ended = number_ended || (in_range && (c == '-' || c == ','));
    if (!number_ended) host += c;
  }
  return host.empty() || in_range ? std::nullopt : std::optional(host);
}

}  // namespace hpcbench
