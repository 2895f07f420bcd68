#include "yaml/diagnostics.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdint>

#include "base/error.hpp"

namespace hpcbench {

namespace {

/// A line without control characters, and the width of the text before the caret.
struct ShownLine {
  std::string text;
  std::size_t caret = 0;
};

constexpr std::size_t kShownWidth = 110;
constexpr std::size_t kShownBefore = 70;

ShownLine show_line(std::string_view line, std::size_t offset_in_line) {
  struct Cell {
    std::string bytes;
    std::size_t width = 1;
  };
  // A line may be a megabyte long: only the neighbourhood of the error is shown.
  constexpr std::size_t kReach = 1000;
  std::size_t begin = offset_in_line > kReach ? offset_in_line - kReach : 0;
  while (begin < offset_in_line && (static_cast<unsigned char>(line[begin]) & 0xC0U) == 0x80U) ++begin;
  std::vector<Cell> cells;
  std::size_t caret_cell = YamlNode::npos;
  const std::size_t end = std::min(line.size(), offset_in_line + kReach);
  for (std::size_t at = begin; at < end;) {
    if (at >= offset_in_line && caret_cell == YamlNode::npos) caret_cell = cells.size();
    utf8proc_int32_t code = -1;
    const auto length = utf8proc_iterate(reinterpret_cast<const std::uint8_t*>(line.data()) + at,
                                         static_cast<utf8proc_ssize_t>(end - at), &code);
    if (length <= 0 || code < 0x20 || code == 0x7F) {
      cells.push_back({code == '\t' ? " " : "?", 1});
      at += length > 0 ? static_cast<std::size_t>(length) : 1;
    } else {
      cells.push_back({std::string(line.substr(at, static_cast<std::size_t>(length))),
                       static_cast<std::size_t>(std::max(0, utf8proc_charwidth(code)))});
      at += static_cast<std::size_t>(length);
    }
  }
  if (caret_cell == YamlNode::npos) caret_cell = cells.size();
  const bool clipped = begin > 0 || (cells.size() > kShownWidth && caret_cell > kShownBefore);
  const std::size_t first = clipped && caret_cell > kShownBefore ? caret_cell - kShownBefore : 0;
  ShownLine shown;
  if (clipped) shown.text = "...";
  if (clipped) shown.caret = 3;
  for (std::size_t i = first; i < cells.size() && i < first + kShownWidth; ++i) {
    if (i < caret_cell) shown.caret += cells[i].width;
    shown.text += cells[i].bytes;
  }
  if (first + kShownWidth < cells.size() || end < line.size()) shown.text += "...";
  return shown;
}

}  // namespace

std::string located_message(const SourceLocation& location, const std::string& message, const std::string& advice) {
  std::size_t begin = 0;
  const std::string_view line = location.source->line_at(location.offset, &begin);
  const ShownLine shown = show_line(line, std::min(location.offset - begin, line.size()));
  std::string out =
      fmt::format("{}: error: {}\n  | {}\n  | {:>{}}", describe_place(location), message, shown.text, '^', shown.caret + 1);
  if (!advice.empty()) out += "\n  = " + advice;
  return out;
}

void Diagnostics::know(const YamlSource& source) {
  if (std::find(sources_.begin(), sources_.end(), &source) == sources_.end()) sources_.push_back(&source);
}

void Diagnostics::add(const SourceLocation& location, const std::string& message, const std::string& advice) {
  ++made_;
  if (!seen_.emplace(location.source, location.offset, message).second) return;
  know(*location.source);
  diagnostics_.push_back({location, message, advice});
}

void Diagnostics::throw_if_any() const {
  if (diagnostics_.empty()) return;
  const auto rank = [&](const Diagnostic& diagnostic) {
    return std::find(sources_.begin(), sources_.end(), diagnostic.location.source) - sources_.begin();
  };
  std::vector<Diagnostic> sorted = diagnostics_;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(rank(a), a.location.offset) < std::pair(rank(b), b.location.offset);
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostShown); ++i) {
    if (i > 0) text += '\n';
    text += located_message(sorted[i].location, sorted[i].message, sorted[i].advice);
  }
  if (sorted.size() > kMostShown) text += fmt::format("\nerror: and {} more", sorted.size() - kMostShown);
  throw InputError(text);
}

}  // namespace hpcbench
