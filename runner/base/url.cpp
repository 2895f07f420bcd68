#include "base/url.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace hpcbench {

std::string escape_url(std::string_view path) {
  constexpr std::string_view kUnreserved = "-._~/";
  std::string result;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || kUnreserved.find(c) != std::string_view::npos) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return result;
}

std::string file_uri(std::string_view path) { return (path.starts_with('/') ? "file://" : "") + escape_url(path); }

}  // namespace hpcbench
