#include "render/input_decks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "plan/placeholders.hpp"
#include "spec/placeholders.hpp"

namespace hpcbench {

namespace {

constexpr std::uintmax_t kMostBytes = 64'000'000;
constexpr int kHashDigits = 64;

[[noreturn]] void refuse(const std::string& path, const std::string& text, const Placeholder& placeholder,
                         const std::string& message, const std::string& advice) {
  const std::string before = text.substr(0, placeholder.offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t begin = before.rfind('\n');
  const std::string in_line = before.substr(begin == std::string::npos ? 0 : begin + 1);
  const auto column = 1 + std::count_if(in_line.begin(), in_line.end(),
                                        [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
  throw InputError(fmt::format("{}:{}:{}: error: {}\n  = {}", path, line, column, message, advice));
}

void check_names(const std::string& path, const std::string& text, const Bindings& bindings) {
  for (const Placeholder& placeholder : find_placeholders(text)) {
    const bool known = find_binding(bindings, placeholder.name) != nullptr;
    if (placeholder.spread && !known) continue;
    if (placeholder.name == "run_dir") {
      refuse(path, text, placeholder, "an input deck cannot use {{run_dir}}: a run by hand has another folder",
             "write a relative path and `workdir: attempt`, or give it in `command`");
    }
    if (known) continue;
    std::vector<std::string> names;
    for (const auto& binding : bindings) names.push_back(binding.first);
    refuse(path, text, placeholder,
           fmt::format("nothing defines {{{{{}}}}}{}", placeholder.name, did_you_mean(placeholder.name, names)),
           "names are those of axes, parameters, derived values, nodes, gpus_per_node, gpus, repeat and seed");
  }
}

}  // namespace

std::string filled_deck(const std::string& path, const Bindings& bindings, std::string& sha256) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw InputError(fmt::format("error: the input deck {} is not there", path));
  if (std::filesystem::file_size(path, error) > kMostBytes)
    throw InputError(fmt::format("error: the input deck {} has more than 64 MB: name its path in `command`", path));
  const std::string text = read_file(path);
  sha256 = sha256_hex(text, kHashDigits);
  check_names(path, text, bindings);
  return fill_placeholders(text, bindings);
}

}  // namespace hpcbench
