#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdint>

#include "base/byte_order_mark.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "yaml/diagnostics.hpp"
#include "yaml/yaml_tree.hpp"

namespace hpcbench {

YamlSource::YamlSource(std::string name, std::string text, std::size_t yaml_begin)
    : name_(std::move(name)), text_(std::move(text)), yaml_begin_(yaml_begin) {
  if (yaml_begin_ == 0 && text_.starts_with(kByteOrderMark)) text_.erase(0, kByteOrderMark.size());
  line_begins_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_begins_.push_back(i + 1);
  }
}

std::string_view YamlSource::line_at(std::size_t offset, std::size_t* begin) const {
  const auto after = std::upper_bound(line_begins_.begin(), line_begins_.end(), std::min(offset, text_.size()));
  *begin = *(after - 1);
  std::string_view line = std::string_view(text_).substr(*begin, text_.find('\n', *begin) - *begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Place YamlSource::place(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto after = std::upper_bound(line_begins_.begin(), line_begins_.end(), offset);
  const std::string_view before = std::string_view(text_).substr(*(after - 1), offset - *(after - 1));
  const auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  return Place{name_, static_cast<int>(after - line_begins_.begin()),
               1 + static_cast<int>(std::count_if(before.begin(), before.end(), starts_character))};
}

Place place_of(const SourceLocation& location) { return location.source->place(location.offset); }

std::string describe_place(const SourceLocation& location) { return describe(place_of(location)); }

std::size_t YamlNode::index_of(std::string_view key) const {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const YamlKey& k) { return k.name == key; });
  return found == keys.end() ? npos : static_cast<std::size_t>(found - keys.begin());
}

const YamlNode* YamlNode::find(std::string_view key) const {
  const std::size_t index = index_of(key);
  return index == npos ? nullptr : &items[index];
}

namespace {

constexpr std::size_t kMostBytes = 1'000'000;

[[noreturn]] void throw_at(const SourceLocation& location, const std::string& message, const std::string& advice) {
  throw InputError(located_message(location, message, advice));
}

}  // namespace

void check_bytes(const YamlSource& source) {
  const std::string& text = source.text();
  if (text.size() > kMostBytes) {
    throw InputError(fmt::format("{}:1:1: error: the file has {} bytes, more than the 1 MB that an experiment may have",
                                 source.name(), text.size()));
  }
  if (!is_utf8(text)) {
    std::size_t good = 0;
    utf8proc_int32_t code = 0;
    while (good < text.size()) {
      const auto length = utf8proc_iterate(reinterpret_cast<const std::uint8_t*>(text.data()) + good,
                                           static_cast<utf8proc_ssize_t>(text.size() - good), &code);
      if (length <= 0) break;
      good += static_cast<std::size_t>(length);
    }
    throw_at({&source, good}, "the text is not UTF-8 from here on", "save the file as UTF-8");
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool blank = byte == '\t' || byte == '\n' || (byte == '\r' && i + 1 < text.size() && text[i + 1] == '\n');
    if ((byte < 0x20 && !blank) || byte == 0x7F) {
      throw_at({&source, i}, fmt::format("the control character 0x{:02x} cannot stand here", byte),
               "in a text with double quotes it can be written as an escape, \"\\x1b\"");
    }
  }
}

}  // namespace hpcbench
