#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scan/candidate.hpp"
#include "scan/line_spots.hpp"
#include "scan/text_number.hpp"

namespace hpcbench {

/// Finds numbers of any text by their labels, units, or headers of aligned tables.
class TextScan {
 public:
  /// Whole lines.
  void feed(std::string_view piece);
  std::vector<Candidate> finish() const;
  long long lines() const { return lines_; }
  /// Whether numbers were forgotten in between, so that counts are too low.
  bool is_partial() const { return has_evicted_; }

 private:
  /// Words above aligned columns.
  struct Header {
    std::vector<std::string> cells, units;
    std::vector<std::size_t> begins, ends;  // of cells in their line
    long long line = 0;
    bool has_tab = false;

    /// Whether each number of a row stands below its word; `shift`: cells of the row before the first word.
    bool is_above(std::string_view row, const std::vector<std::string_view>& cells, std::size_t shift) const;
  };

  void take_line(std::string_view line);
  bool is_of_other_rank(std::string_view line);
  void take_header(std::string_view line, const std::vector<std::string_view>& cells);
  bool take_row(std::string_view line);
  void take_cells(const std::vector<std::string_view>& cells, const Header& header);
  void take_plain_row(std::string_view line);
  void take_spot(std::string_view line, const Spot& spot, const Spot* index);
  TextNumber& number_of(const std::string& key);
  const std::string& index_of_label(std::string_view label);
  std::vector<const TextNumber*> numbers(std::vector<TextNumber>& merged) const;
  /// Of several ranks in one stream, lets the pattern read one.
  void choose_rank(Metric& metric) const;

  std::map<std::string, TextNumber> numbers_;
  std::map<std::string, std::string, std::less<>> index_labels_;
  std::deque<Header> headers_;     // the latest first
  std::optional<long long> rank_;  // the lowest that begins lines: `[rank0]`; other ranks are left out
  bool has_other_ranks_ = false, is_ranked_line_ = false;
  std::string rank_prefix_, rank_end_;  // `[rank` and `]`
  bool has_evicted_ = false;
  long long lines_ = 0;
};

}  // namespace hpcbench
