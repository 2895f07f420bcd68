#include "ingest/csv_text.hpp"

#include "base/byte_order_mark.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLargestCell = std::size_t{1} << 20;
constexpr std::size_t kMostCells = 10'000;

}  // namespace

void CsvReader::feed(std::string_view piece) {
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
  } else if (c == ',') {
    end_cell();
  } else if (state_ == State::cell_start && c == '"') {
    cell_.clear();
    cell_was_quoted_ = true;
    quote_line_ = line_;
    state_ = State::quoted;
  } else if (state_ == State::cell_start && (c == ' ' || c == '\t')) {
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
    row_(row_line_, cells_);
  }
  cells_.clear();
  places_.clear();
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
