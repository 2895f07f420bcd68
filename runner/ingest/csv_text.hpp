#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// Reads CSV (RFC 4180) that comes in pieces cut anywhere: cells in quotes may hold delimiters, doubled quotes and line ends;
/// blanks around a cell do not count; lines end with LF or CRLF; blank lines and a byte order mark are skipped. The first line
/// that is no comment shows the delimiter: `,`, `;`, tab or `|`. Lines that begin with `#` are comments; the last one above the
/// data is the header if it has as many cells and the line below it has numbers. Total: a row with a cell over 1 MiB or with
/// more than 10,000 cells, and a quote that never ends, are problems with the line on which they begin; the rest is read.
class CsvReader {
 public:
  using Row = std::function<void(long long line, std::vector<std::string>& cells)>;
  using Problem = std::function<void(long long line, const std::string& text)>;
  CsvReader(Row row, Problem problem) : row_(std::move(row)), problem_(std::move(problem)) {}

  void feed(std::string_view piece);
  /// The end of the text: the last line needs no newline.
  void finish();

  /// Where a cell begins: a quoted line end moves later cells of a row to another line.
  struct CellPlace {
    long long line = 0;
    long long column = 0;  // in bytes, from 1
  };
  /// Before the first byte: `cell_places` has the places of the row's cells while `row` is called.
  void keep_places() { keeps_places_ = true; }
  const std::vector<CellPlace>& cell_places() const { return places_; }
  /// Between the cells; known once a row was given.
  char delimiter() const { return delimiter_; }

 private:
  enum class State { cell_start, plain, quoted, quote_in_quoted, skip_line };

  /// Decides the delimiter and the header once the first line that is no comment is complete, or `is_end`.
  void decide(bool is_end);
  void read(std::string_view piece);
  void give_row();
  void take(char c);
  void take_outside_quotes(char c);
  void add(char c);
  void end_cell();
  void end_row();
  void give_up(const char* why);

  Row row_;
  Problem problem_;
  State state_ = State::cell_start;
  std::vector<std::string> cells_;
  bool keeps_places_ = false;
  std::vector<CellPlace> places_;  // of cells_
  CellPlace place_ = {1, 1};       // of the cell that is being read
  std::string cell_;
  bool cell_was_quoted_ = false;
  long long line_ = 1;        // of the next byte
  long long column_ = 1;      // likewise
  long long row_line_ = 1;    // on which the row began
  long long quote_line_ = 1;  // on which the last quote was opened
  long long bytes_ = 0;
  char delimiter_ = ',';
  bool is_decided_ = false;
  std::string head_;           // the text before the decision
  long long header_line_ = 0;  // of a header that is a comment; 0: none
  std::size_t columns_ = 0;    // of the first row
};

/// Whether a row repeats the header or is another one: most of its cells are headings and none is a number.
bool is_other_header(const std::vector<std::string>& header, const std::vector<std::string>& cells);

/// A cell as CSV has it: in quotes where it needs them.
std::string csv_cell(std::string_view text);

}  // namespace hpcbench
