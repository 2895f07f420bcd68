#include "runfiles/block_claim.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/files.hpp"
#include "base/text.hpp"
#include "runfiles/claim.hpp"

namespace hpcbench {

namespace {

std::optional<std::size_t> block_number(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::vector<BlockLines> parse_blocks(std::string_view text) {
  std::vector<BlockLines> blocks;
  for (const std::string& line : split(std::string(text), '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) break;
    const auto first = block_number(std::string_view(line).substr(0, blank));
    const auto count = block_number(std::string_view(line).substr(blank + 1));
    const std::size_t expected = blocks.empty() ? 0 : blocks.back().first + blocks.back().count;
    if (!first || !count || *first != expected || *count == 0) break;
    blocks.push_back({*first, *count});
  }
  return blocks;
}

std::string blocks_text(const std::vector<std::size_t>& sizes) {
  std::string text;
  std::size_t first = 0;
  for (const std::size_t size : sizes) {
    text += fmt::format("{} {}\n", first, size);
    first += size;
  }
  return text;
}

std::map<std::string, int> elements_of(const std::string& attempts_text, const std::optional<std::string>& blocks_text) {
  const std::vector<std::string> lines = split(attempts_text, '\n');
  std::map<std::string, int> elements;
  if (!blocks_text) {
    for (std::size_t i = 0; i < lines.size(); ++i) elements.emplace(lines[i], static_cast<int>(i));
    return elements;
  }
  int element = 0;
  for (const BlockLines& block : parse_blocks(*blocks_text)) {
    for (std::size_t i = block.first; i < block.first + block.count && i < lines.size(); ++i)
      elements.emplace(lines[i], element);
    ++element;
  }
  return elements;
}

std::string block_folder(const std::string& batch_folder, std::size_t index) {
  return fmt::format("{}/block-{}", batch_folder, index);
}

bool block_has_begun(const std::string& batch_folder, std::size_t index, const std::string& why) {
  const std::string folder = block_folder(batch_folder, index);
  std::optional<Claim> claim = read_claim(folder);
  if (!claim) {
    make_folders(folder);
    if (try_claim(folder, {.revoked = true, .why = why, .token = {}, .job = {}, .process = {}})) return false;
    claim = read_claim(folder);
  }
  return !claim || !claim->revoked;
}

}  // namespace hpcbench
