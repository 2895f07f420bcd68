#include "ingest/terminal_text.hpp"

#include <algorithm>

namespace hpcbench {

namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';

/// The length of the escape sequence that `text` begins with. One that does not end in its line is the escape alone.
std::size_t length_of_escape(std::string_view text) {
  if (text.size() < 2 || text[1] == '\n' || text[1] == '\r') return 1;
  if (text[1] == '[') {
    std::size_t end = 2;
    while (end < text.size() && text[end] >= ' ' && text[end] <= '?') ++end;
    return end < text.size() && text[end] >= '@' && text[end] <= '~' ? end + 1 : 1;
  }
  if (text[1] == ']') {  // a title or a link: up to a bell or ESC backslash
    for (std::size_t end = 2; end < text.size() && text[end] != '\n'; ++end) {
      if (text[end] == kBell) return end + 1;
      if (text[end] == kEscape && text.substr(end + 1, 1) == "\\") return end + 2;
    }
    return 1;
  }
  return text[1] > ' ' && text[1] <= '~' ? 2 : 1;
}

}  // namespace

TerminalText::TerminalText(std::string_view piece) : text_(piece) {
  if (piece.find(kEscape) == std::string_view::npos && piece.find('\r') == std::string_view::npos) return;
  clean(piece);
  text_ = cleaned_;
}

void TerminalText::clean(std::string_view piece) {
  cleaned_.reserve(piece.size());
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t special = std::min(piece.find_first_of("\x1b\r\n]", at), piece.size());
    cleaned_ += piece.substr(at, special - at);
    at = special;
    if (at == piece.size()) break;
    const char c = piece[at];
    if (c == kEscape) {
      at += length_of_escape(piece.substr(at));
      continue;
    }
    ++at;
    if (c == ']') {
      cleaned_ += c;
      if (at < piece.size()) end_line_at_bar(piece[at]);
      continue;
    }
    const std::size_t next = c == '\r' ? std::min(piece.find_first_not_of('\r', at), piece.size()) : at;
    if (c == '\r' && next < piece.size() && piece[next] == '\n') {
      at = next;  // CR LF is one line end
      continue;
    }
    if (c == '\r') made_.push_back(cleaned_.size());
    cleaned_ += '\n';
    line_begin_ = cleaned_.size();
  }
}

/// ` 25%|##   | 160/640 [05:02<15:02,  1.88s/it]` and `160it [05:02,  1.88s/it]`, as tqdm draws them.
void TerminalText::end_line_at_bar(char next) {
  if (next == '\r' || next == '\n') return;
  const std::string_view line = std::string_view(cleaned_).substr(line_begin_);
  const std::string_view rate = line.substr(0, line.size() - 1);
  const bool is_bar = line.find("%|") != std::string_view::npos && line.find('[') != std::string_view::npos;
  if (!is_bar && !rate.ends_with("s/it") && !rate.ends_with("it/s")) return;
  made_.push_back(cleaned_.size());
  cleaned_ += '\n';
  line_begin_ = cleaned_.size();
}

long long TerminalText::lines_before(std::size_t offset) const {
  const auto end = text_.begin() + static_cast<std::ptrdiff_t>(offset);
  const auto made = std::lower_bound(made_.begin(), made_.end(), offset) - made_.begin();
  return std::count(text_.begin(), end, '\n') - made;
}

}  // namespace hpcbench
