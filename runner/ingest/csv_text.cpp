#include "ingest/csv_text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/byte_order_mark.hpp"
#include "base/text.hpp"
#include "base/written_number.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLargestCell = std::size_t{1} << 20;
constexpr std::size_t kMostCells = 10'000;
constexpr std::size_t kLongestHead = std::size_t{1} << 20;
constexpr std::array kDelimiters = {',', ';', '\t', '|'};

/// The cells of a line, for their number and for whether any is a number. Quotes are kept.
std::vector<std::string_view> rough_cells(std::string_view line, char delimiter) {
  std::vector<std::string_view> cells;
  bool is_quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') is_quoted = !is_quoted;
    if (i < line.size() && (is_quoted || line[i] != delimiter)) continue;
    cells.push_back(trim(line.substr(begin, i - begin)));
    begin = i + 1;
  }
  return cells;
}

bool is_comment(std::string_view line) { return trim(line).starts_with('#'); }

/// The header that a comment holds.
std::string_view without_mark(std::string_view line) { return trim(line.substr(line.find('#') + 1)); }

bool has_number(const std::vector<std::string_view>& cells) {
  return std::any_of(cells.begin(), cells.end(), [](std::string_view cell) {
    return read_written_number(cell, DecimalMark::unknown).kind == WrittenNumber::Kind::number;
  });
}

/// The first delimiter that gives the first line and the comment above it, or the next line, the same number of cells, else the
/// first one that the line has. Absent if that takes a next line.
std::optional<char> delimiter_of(std::string_view line, std::string_view comment, std::optional<std::string_view> next,
                                 bool is_end) {
  std::vector<char> found;
  for (const char delimiter : kDelimiters) {
    if (rough_cells(line, delimiter).size() > 1) found.push_back(delimiter);
  }
  if (found.size() < 2) return found.empty() ? ',' : found.front();
  const auto fits = [&](std::string_view other, char delimiter) {
    return rough_cells(line, delimiter).size() == rough_cells(other, delimiter).size();
  };
  for (const char delimiter : found) {
    if (!comment.empty() && fits(without_mark(comment), delimiter)) return delimiter;
  }
  if (!next && !is_end) return std::nullopt;
  for (const char delimiter : found) {
    if (next && fits(*next, delimiter)) return delimiter;
  }
  return found.front();
}

}  // namespace

void CsvReader::feed(std::string_view piece) {
  if (is_decided_ || (head_.empty() && trim(piece).empty())) return read(piece);
  head_ += piece;
  decide(false);
}

void CsvReader::decide(bool is_end) {
  std::string_view comment, first;
  long long comment_line = 0;
  long long line_number = line_ - 1;
  std::string_view rest = head_;
  const bool is_full = is_end || head_.size() >= kLongestHead;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  while (!rest.empty() || (is_full && !first.empty())) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos && !is_full) return;
    const std::string_view next = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    ++line_number;
    if (trim(next).empty() && !(rest.empty() && is_full)) continue;
    if (first.empty() && is_comment(next)) {
      comment = next;
      comment_line = line_number;
      continue;
    }
    const bool is_second = !first.empty();
    const std::string_view line = is_second ? first : next;
    const auto delimiter = delimiter_of(line, comment, is_second ? std::optional(next) : std::nullopt, rest.empty() && is_full);
    if (!delimiter) {
      first = line;
      continue;
    }
    delimiter_ = *delimiter;
    const std::vector<std::string_view> cells = rough_cells(line, delimiter_);
    const bool is_header = !comment.empty() && rough_cells(without_mark(comment), delimiter_).size() == cells.size() &&
                           cells.size() > 1 && has_number(cells);
    header_line_ = is_header ? comment_line : 0;
    is_decided_ = true;
    break;
  }
  if (!is_decided_ && !is_full) return;
  is_decided_ = true;
  read(std::exchange(head_, {}));
}

void CsvReader::read(std::string_view piece) {
  for (const char c : piece) {
    // A byte order mark is three bytes at the very start, and may come in two pieces.
    if (bytes_ < static_cast<long long>(kByteOrderMark.size()) && c == kByteOrderMark[static_cast<std::size_t>(bytes_)] &&
        static_cast<long long>(cell_.size()) == bytes_ && cells_.empty()) {
      cell_ += c;
      state_ = State::plain;
      if (++bytes_ == static_cast<long long>(kByteOrderMark.size())) {
        cell_.clear();
        state_ = State::cell_start;
      }
      continue;
    }
    bytes_ = static_cast<long long>(kByteOrderMark.size());
    take(c);
  }
}

void CsvReader::take(char c) {
  const bool is_comment_above =
      c == '#' && columns_ == 0 && state_ == State::cell_start && cells_.empty() && line_ != header_line_;
  if (is_comment_above) state_ = State::skip_line;
  switch (state_) {
    case State::cell_start:
    case State::plain:
      take_outside_quotes(c);
      break;
    case State::quoted:
      if (c == '"') {
        state_ = State::quote_in_quoted;
      } else {
        add(c);
      }
      break;
    case State::quote_in_quoted:
      if (c == '"') {
        add('"');
        if (state_ != State::skip_line) state_ = State::quoted;
      } else {
        state_ = State::plain;
        take_outside_quotes(c);
      }
      break;
    case State::skip_line:
      if (c == '\n') {
        state_ = State::cell_start;
        row_line_ = line_ + 1;
      }
      break;
  }
  if (c == '\n') ++line_;
  if (!keeps_places_) return;
  column_ = c == '\n' ? 1 : column_ + 1;
  if (state_ == State::cell_start) place_ = {line_, column_};
}

void CsvReader::take_outside_quotes(char c) {
  if (c == '\n') {
    end_cell();
    end_row();
    row_line_ = line_ + 1;
  } else if (c == delimiter_) {
    end_cell();
  } else if (state_ == State::cell_start && c == '"') {
    cell_.clear();
    cell_was_quoted_ = true;
    quote_line_ = line_;
    state_ = State::quoted;
  } else if (state_ == State::cell_start && (c == ' ' || c == '\t')) {  // a tab that delimits was taken above
    // Blanks before a cell: a quote may follow.
  } else {
    state_ = State::plain;
    // What follows a closing quote is not part of the cell, if it is blank.
    if (!cell_was_quoted_ || (c != ' ' && c != '\t' && c != '\r')) add(c);
  }
}

void CsvReader::add(char c) {
  cell_ += c;
  if (cell_.size() > kLargestCell) give_up("a cell of more than 1 MiB; the line is left out");
}

void CsvReader::end_cell() {
  if (keeps_places_) places_.push_back(place_);
  cells_.emplace_back(cell_was_quoted_ ? std::string_view(cell_) : trim(cell_));
  cell_.clear();
  cell_was_quoted_ = false;
  state_ = State::cell_start;
  if (cells_.size() > kMostCells) give_up("more than 10,000 cells; the line is left out");
}

void CsvReader::end_row() {
  if (state_ == State::skip_line) {
    state_ = State::cell_start;
  } else if (cells_.size() > 1 || (cells_.size() == 1 && !cells_.front().empty())) {
    give_row();
  }
  cells_.clear();
  places_.clear();
}

/// Leaves out comments below the first row: they have another number of cells.
void CsvReader::give_row() {
  std::string& first = cells_.front();
  if (first.starts_with('#') && columns_ > 0 && cells_.size() != columns_) return;
  if (first.starts_with('#') && header_line_ > 0) first = without_mark(first);
  if (columns_ == 0) columns_ = cells_.size();
  row_(row_line_, cells_);
}

/// Leaves out the row. A quote that was opened by mistake ends here, too: reading goes on at the next line end.
void CsvReader::give_up(const char* why) {
  problem_(row_line_, why);
  cells_.clear();
  places_.clear();
  cell_.clear();
  cell_.shrink_to_fit();
  cell_was_quoted_ = false;
  state_ = State::skip_line;
}

void CsvReader::finish() {
  if (!is_decided_) decide(true);
  if (state_ == State::quoted) {
    problem_(quote_line_, "a quote is opened here and never closed");
    cells_.clear();
    places_.clear();
  } else if (state_ != State::skip_line && (state_ != State::cell_start || !cells_.empty())) {
    end_cell();
    end_row();
  }
  cells_.clear();
  places_.clear();
  cell_.clear();
  cell_was_quoted_ = false;
  state_ = State::cell_start;
  line_ = row_line_ = column_ = 1;
  place_ = {1, 1};
  bytes_ = 0;
  delimiter_ = ',';
  is_decided_ = false;
  head_.clear();
  header_line_ = 0;
  columns_ = 0;
}

bool is_other_header(const std::vector<std::string>& header, const std::vector<std::string>& cells) {
  // Most rows end here: they begin with a number.
  if (parse_plain_number(cells.front())) return false;
  const auto is_heading = [&](const std::string& cell) {
    return !cell.empty() && std::find(header.begin(), header.end(), cell) != header.end();
  };
  const auto count = std::count_if(cells.begin(), cells.end(), is_heading);
  const std::vector<std::string_view> views(cells.begin(), cells.end());
  return 2 * static_cast<std::size_t>(count) >= cells.size() && !has_number(views);
}

std::string csv_cell(std::string_view text) {
  const bool plain = text.find_first_of(",\"\r\n") == std::string_view::npos && trim(text) == text;
  if (plain) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace hpcbench
