#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

// Numbers as programs and people write them: patterns, columns, JSON texts, tables of imports and given values are all read
// here (docs/sources.md, "What is read as what").

/// The character before the decimals of a file's numbers; the other one, if any, separates thousands. `disputed`: the file has
/// a sign of a decimal comma, but not enough to decide.
enum class DecimalMark { unknown, disputed, point, comma };
/// `point`, `comma`; unknown for any other word.
DecimalMark parse_decimal_mark(std::string_view word);
/// Empty for unknown.
std::string to_string(DecimalMark mark);

/// A text that should be a number.
struct WrittenNumber {
  enum class Kind {
    number,
    absent,      // `N/A`, `null`, `-` or empty
    not_finite,  // `nan`, `-inf`, `Infinity`
    unclear,     // `1,234`: one and a fraction, or more than a thousand
    none,        // any other text
  };
  Kind kind = Kind::none;
  double value = 0;                    // in `unit`
  std::string unit = {};               // behind the number; `s` of a duration; empty without
  std::optional<double> seconds = {};  // of a time, correctly rounded
  bool is_duration = false;            // `1h 17m`, `0:41:17`: the value is in s
  std::string why = {};                // of unclear and none: what to do, for a message; may be empty
};

/// Reads all of a text, apart from blanks around it. A text above 100 bytes is no number.
WrittenNumber read_written_number(std::string_view text, DecimalMark mark);

/// A number as a machine writes it, and nothing else: finite, without a sign of plus: `12`, `-0.5`, `1e-3`.
std::optional<double> parse_plain_number(std::string_view text);

/// `N/A`, `null`, `none`, `-` or empty, in any case of letters.
bool is_absent(std::string_view text);

/// NaN or an infinity, as C, Python, JavaScript and Fortran print them: `nan`, `-inf`, `Infinity`.
bool is_not_finite(std::string_view text);

/// The number of which a pattern captured `begin` to `end`, as far as it continues behind `end`: `1,541,366`, `0,31`, `1.2e-5`
/// and `7.25` if only the first digits were captured. Durations are continued if `is_time`: `5m11.80s`, `2-03:14:25`.
std::string_view whole_number(std::string_view text, std::size_t begin, std::size_t end, bool is_time);

/// The factor of a letter that touches a number, if `unit` is one of bytes: `9472K` as Slurm, ps and ls write it, by
/// 1024. `K` in a metric in KiB or kB is that unit.
std::optional<double> factor_of_letter(std::string_view letter, const std::string& unit);

/// Reads the numbers of one metric as values in its unit. The first known unit of a file becomes the unit of a metric that has
/// none.
class NumberReader {
 public:
  using FindMark = std::function<DecimalMark()>;

  explicit NumberReader(std::string unit = {}, DecimalMark declared = DecimalMark::unknown);

  /// `find_mark` examines the file's other numbers. It is called at most once a file, for a number with two readings.
  void begin_file(FindMark find_mark);
  WrittenNumber read(std::string_view text);
  /// The same in the unit that the text has.
  WrittenNumber read_as_written(std::string_view text);
  /// The same with the text of its unit from another place; an empty one counts as none.
  WrittenNumber read(std::string_view text, std::string_view unit);
  /// A plain number without a unit, for the index of a series.
  std::optional<double> read_index(std::string_view text);
  /// The declared mark, else that of the file.
  DecimalMark mark();

  const std::string& unit() const { return unit_; }
  bool has_found_unit() const { return has_found_unit_; }
  /// Sets the unit that a file gives; ignored if the metric has one.
  void find_unit(std::string_view unit);
  bool is_time() const { return is_time_; }

 private:
  void convert(WrittenNumber& number);

  std::string unit_;
  DecimalMark declared_;
  std::optional<DecimalMark> of_file_;
  FindMark find_mark_;
  bool has_found_unit_ = false;
  bool is_time_ = false;
};

/// Finds the decimal mark of a text from numbers that have one reading only. Contradicting numbers leave it unknown.
class MarkEvidence {
 public:
  /// In text `1,25` may be two values.
  MarkEvidence() = default;
  /// The evidence of one column of a table, counted from 0.
  MarkEvidence(char delimiter, std::size_t column) : is_column_(true), delimiter_(delimiter), column_(column) {}

  /// Whole lines.
  void add(std::string_view text);
  DecimalMark mark() const;

 private:
  void add_text(std::string_view text);
  void add_cells(std::string_view rows);
  void add_token(std::string_view token);
  void find_point(std::string_view text);

  bool is_column_ = false;
  char delimiter_ = ',';
  std::size_t column_ = 0;
  bool groups_by_comma_ = false;  // `1,541,366`, `1,104.65`
  bool groups_by_point_ = false;  // `9.318,27`
  bool decimal_comma_ = false;    // `0,31`
  bool decimal_point_ = false;    // `0.31`
};

}  // namespace hpcbench
