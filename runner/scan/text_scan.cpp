#include "scan/text_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.hpp"
#include "base/units.hpp"
#include "base/written_number.hpp"
#include "ingest/terminal_text.hpp"
#include "scan/metric_name.hpp"
#include "scan/pattern_text.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLongestScanned = 4096;
constexpr std::size_t kMostNumbers = 4096;
constexpr std::size_t kMostHeaders = 6;
constexpr std::size_t kLongestHeading = 32;
constexpr std::size_t kMostRowLabels = 8;
constexpr std::size_t kMostColumns = 40;

bool has_any_letter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
}

/// For ranking only.
double rough_value(std::string_view text) {
  const WrittenNumber number = read_written_number(text, DecimalMark::unknown);
  if (number.kind == WrittenNumber::Kind::number) return number.value;
  return read_written_number(text, DecimalMark::point).value;
}

bool has_decimals(std::string_view text) { return text.find_first_of(".:hms") != std::string_view::npos; }

constexpr const char* kSeparator = "\x1f";

}  // namespace

void TextScan::feed(std::string_view piece) {
  const TerminalText shown(piece);
  std::string_view rest = shown.text();
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    ++lines_;
    if (line.size() > kLongestScanned) line = line.substr(0, kLongestScanned);
    if (!trim(line).empty()) take_line(line);
  }
}

/// `[rank0]:[pretrain] step: 1` and `rank 0: step 1`: keeps the lines of the lowest rank.
bool TextScan::is_of_other_rank(std::string_view line) {
  constexpr std::array<std::string_view, 4> kForms = {"[rank", "[Rank ", "rank ", "Rank "};
  const auto form = std::find_if(kForms.begin(), kForms.end(), [&](std::string_view each) { return line.starts_with(each); });
  is_ranked_line_ = false;
  if (form == kForms.end()) return false;
  const std::string_view digits = line.substr(form->size(), line.find_first_not_of("0123456789", form->size()) - form->size());
  const std::string_view behind = line.substr(form->size() + digits.size());
  const std::optional<double> rank = parse_plain_number(digits);
  if (!rank || *rank > 1e6 || !(behind.starts_with(form->front() == '[' ? ']' : ':'))) return false;
  const auto number = static_cast<long long>(*rank);
  if (rank_ && number > *rank_) {
    has_other_ranks_ = true;
    return true;
  }
  if (rank_ && number < *rank_) {
    has_other_ranks_ = true;
    std::erase_if(numbers_, [](const auto& each) { return each.second.is_ranked; });
  }
  rank_ = number;
  rank_prefix_ = *form;
  rank_end_ = behind.substr(0, 1);
  is_ranked_line_ = true;
  return false;
}

void TextScan::choose_rank(Metric& metric) const {
  const bool is_at_line_begin = metric.selector.starts_with('^');
  if (is_at_line_begin) return;  // a label that begins lines has no rank before it
  metric.selector =
      "^" + pattern_literal(rank_prefix_) + "(?P<rank>[0-9]+)" + pattern_literal(rank_end_) + ".*?" + metric.selector;
  metric.where = Condition{{"rank", {Value::from_integer(*rank_)}}};
}

void TextScan::take_line(std::string_view line) {
  if (is_of_other_rank(line) || take_row(line)) return;
  const std::vector<Spot> spots = find_spots(line);
  if (spots.empty()) {
    const std::vector<std::string_view> cells = aligned_cells(line, false);
    if (cells.size() < 2) return;
    if (const std::vector<std::string_view> words = aligned_cells(line, true); words.size() > cells.size())
      take_header(line, words);
    take_header(line, cells);
    return;
  }
  const Spot* index = nullptr;
  for (const Spot& spot : spots) {
    if (spot.label.empty() || index_of_label(spot.label).empty()) continue;
    if (index == nullptr || (index_of_label(index->label) == "epoch" && index_of_label(spot.label) == "step")) index = &spot;
  }
  bool has_named = false;
  for (const Spot& spot : spots) {
    if (spot.label.empty() && spot.unit.empty() && spot.right.empty()) continue;
    take_spot(line, spot, index == &spot ? nullptr : index);
    has_named = true;
  }
  if (!has_named) take_plain_row(line);
}

void TextScan::take_header(std::string_view line, const std::vector<std::string_view>& cells) {
  Header header;
  header.line = lines_;
  header.has_tab = line.find('\t') != std::string_view::npos;
  bool are_units = !headers_.empty() && headers_.front().line + 1 == lines_;
  for (std::string_view cell : cells) {
    header.begins.push_back(static_cast<std::size_t>(cell.data() - line.data()));
    header.ends.push_back(header.begins.back() + cell.size());
    if (cell.starts_with('#')) {
      cell =
          trim(cell.substr(cell.find_first_not_of('#') == std::string_view::npos ? cell.size() : cell.find_first_not_of('#')));
    }
    if (cell.empty() && header.cells.empty()) {
      header.begins.pop_back();
      header.ends.pop_back();
      continue;
    }
    const bool is_heading = (has_any_letter(cell) || cell == "(%)") && cell.size() <= kLongestHeading &&
                            cell.find_first_of("?={}\"") == std::string_view::npos && !cell.ends_with(':');
    if (!is_heading) return;
    are_units = are_units && cell.starts_with('(') && cell.ends_with(')');
    header.cells.emplace_back(cell);
  }
  if (are_units) {  // `(us)  (GB/s)` below the words
    bool found = false;
    for (Header& above : headers_) {
      if (above.line != headers_.front().line) continue;
      above.units.resize(above.cells.size());
      for (std::size_t i = 0; i < header.cells.size(); ++i) {
        const std::string unit = header.cells[i].substr(1, header.cells[i].size() - 2);
        for (std::size_t k = 0; k < above.ends.size() && is_unit_text(unit); ++k) {
          if (above.ends[k] != header.ends[i]) continue;
          above.units[k] = unit;
          found = true;
        }
      }
    }
    if (found) return;
  }
  if (header.cells.size() < 2 || header.cells.size() > kMostColumns) return;
  headers_.push_front(std::move(header));
  if (headers_.size() > kMostHeaders) headers_.pop_back();
}

bool TextScan::Header::is_above(std::string_view row, const std::vector<std::string_view>& row_cells, std::size_t shift) const {
  if (has_tab) return true;
  for (std::size_t i = std::max<std::size_t>(shift, 1); i < row_cells.size(); ++i) {
    const auto begin = static_cast<std::size_t>(row_cells[i].data() - row.data());
    const std::size_t end = begin + row_cells[i].size();
    if (is_number_cell(row_cells[i]) && (end < begins[i - shift] || begin > ends[i - shift])) return false;
  }
  return true;
}

bool TextScan::take_row(std::string_view line) {
  if (headers_.empty()) return false;
  std::vector<std::string_view> cells = aligned_cells(line, false);
  if (cells.size() > 2 && cells[1] == ":") cells.erase(cells.begin() + 1);  // `File removal  :   611.904`
  if (cells.size() < 2) return false;
  const bool has_numbers = std::any_of(cells.begin() + 1, cells.end(), is_number_cell);
  const bool are_plain = std::all_of(cells.begin() + 1, cells.end(), [](std::string_view cell) {
    return is_number_cell(cell) || cell.find_first_of(" :=") == std::string_view::npos;
  });
  if (!has_numbers || !are_plain || cells.front().find_first_of("=,") != std::string_view::npos) return false;
  const bool is_labelled = !is_number_cell(cells.front());
  for (const Header& header : headers_) {
    // A row may begin with a word that stands below none: `Time:   211048.320     4396.840     4800.0`.
    const std::size_t shift = is_labelled && header.cells.size() + 1 == cells.size() ? 1 : 0;
    if (header.cells.size() + shift != cells.size() || !header.is_above(line, cells, shift)) continue;
    take_cells(cells, header);
    return true;
  }
  return false;
}

void TextScan::take_cells(const std::vector<std::string_view>& cells, const Header& header) {
  const bool is_labelled = !is_number_cell(cells.front());
  const bool has_index = !is_labelled && cells.front().find_first_not_of("0123456789") == std::string_view::npos;
  const std::size_t shift = cells.size() - header.cells.size();
  for (std::size_t i = is_labelled ? 1 : 0; i < cells.size(); ++i) {
    if (!is_number_cell(cells[i]) || (has_index && i == 0)) continue;
    std::string key = fmt::format("cell{}{:03}", kSeparator, i);
    for (const std::string& cell : header.cells) key += kSeparator + cell;
    std::string_view label = is_labelled ? cells.front() : std::string_view();
    if (label.ends_with(':')) label = trim(label.substr(0, label.size() - 1));
    const std::string row_label(label);
    TextNumber& number = number_of(row_label + kSeparator + key);
    number.kind = TextNumber::Kind::cell;
    number.is_ranked = is_ranked_line_;
    number.row_key = row_label;
    number.label = header.cells[i - shift];
    number.header = header.cells;
    number.column = i;
    number.has_row_label = is_labelled;
    number.has_index = has_index;
    number.row_labels.insert(row_label);
    if (i - shift < header.units.size() && !header.units[i - shift].empty()) ++number.units[header.units[i - shift]];
    if (const std::string unit = read_written_number(cells[i], DecimalMark::unknown).unit; !unit.empty()) ++number.units[unit];
    number.header.resize(cells.size());  // the columns of the row
    number.index = shift == 0 ? header.cells.front() : "";
    number.seen.add(rough_value(cells[i]), lines_, has_decimals(cells[i]));
  }
}

/// `1767000300000 612.4 100`: numbers alone, in columns without names.
void TextScan::take_plain_row(std::string_view line) {
  const std::vector<std::string_view> cells = aligned_cells(line, true);
  if (cells.size() < 2 || cells.size() > kMostColumns || !std::all_of(cells.begin(), cells.end(), is_number_cell)) return;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    TextNumber& number = number_of(fmt::format("plain{}{}{}{}", kSeparator, cells.size(), kSeparator, i));
    number.kind = TextNumber::Kind::plain;
    number.label = fmt::format("column {}", i + 1);
    number.header.resize(cells.size());
    number.column = i;
    number.seen.add(rough_value(cells[i]), lines_, has_decimals(cells[i]));
  }
}

const std::string& TextScan::index_of_label(std::string_view label) {
  const auto known = index_labels_.find(label);
  if (known != index_labels_.end()) return known->second;
  if (index_labels_.size() > kMostNumbers) index_labels_.clear();
  const std::string name = index_name(parse_label(label).name);
  return index_labels_.emplace(label, name == "size" ? "" : name).first->second;
}

TextNumber& TextScan::number_of(const std::string& key) {
  const auto known = numbers_.find(key);
  if (known != numbers_.end()) return known->second;
  if (numbers_.size() >= kMostNumbers) {  // those that do not repeat make room
    has_evicted_ = true;
    std::erase_if(numbers_, [](const auto& each) { return each.second.seen.count < 2; });
    if (numbers_.size() >= kMostNumbers) {
      std::erase_if(numbers_, [n = 0](const auto&) mutable { return ++n % 2 == 0; });
    }
  }
  return numbers_[key];
}

namespace {

std::size_t offset_of(std::string_view line, std::string_view part) {
  return static_cast<std::size_t>(part.data() - line.data());
}

/// Notes what stands between the beginning of the line, a label, its mark and the number.
void note_label(std::string_view line, const Spot& spot, TextNumber& number) {
  const std::size_t at = spot.is_keyed ? spot.separator.find(number.mark) : 0;
  const std::string_view behind = spot.separator.substr(at + number.mark.size());
  const std::size_t quote = behind.find_first_of("'\"~<");
  number.before_mark.add(spot.separator.substr(0, at));
  number.behind_mark.add(behind.substr(0, quote));
  number.is_quoted = number.is_quoted && quote != std::string_view::npos;
  if (quote != std::string_view::npos && number.quotes.find(behind[quote]) == std::string::npos) number.quotes += behind[quote];
  const bool begins = spot.before.empty();
  if (begins) number.indent.add(line.substr(0, offset_of(line, spot.label)));
  number.begins_line = number.begins_line && begins;
  if (number.seen.count == 0) number.before = spot.before;
  number.has_one_before = number.has_one_before && number.before == spot.before;
  number.gap.add(spot.gap);
}

/// Notes the blanks between the number, its unit and the words behind it. The unit of a duration is part of the number.
void note_unit(std::string_view line, const Spot& spot, bool is_time, TextNumber& number) {
  const std::size_t unit_end = spot.unit.empty() ? spot.end : offset_of(line, spot.unit) + spot.unit.size();
  const std::size_t end = is_time ? unit_end : spot.end;
  const bool is_word_alone = is_time || spot.unit.empty();
  number.gap.add(is_word_alone ? line.substr(end, offset_of(line, spot.right) - end) : spot.gap);
  if (!is_word_alone && !spot.right.empty())
    number.behind_unit.add(line.substr(unit_end, offset_of(line, spot.right) - unit_end));
}

}  // namespace

void TextScan::take_spot(std::string_view line, const Spot& spot, const Spot* index) {
  const bool is_label = !spot.label.empty();
  const std::string_view mark = trim(spot.separator);
  const std::size_t mark_size = spot.is_keyed ? 1 : 0;
  const std::string mark_text(mark.substr(0, mark_size));
  // `5m11.80s WALL` and `54.37s WALL` are one number.
  const bool is_time = !is_label && !spot.right.empty() && spot.gap.empty() && (spot.is_duration || spot.unit == "s");
  const std::string_view unit = is_time ? std::string_view() : spot.unit;
  const std::string index_key =
      index == nullptr ? "" : index_pattern(index->label, index->separator, index_of_label(index->label));
  const std::string rest =
      is_label ? std::string(spot.label) + kSeparator + mark_text : std::string(unit) + kSeparator + std::string(spot.right);
  TextNumber& number = number_of(std::string(spot.row_key) + kSeparator + (is_label ? "label" : "unit") + kSeparator + rest +
                                 kSeparator + index_key);
  number.kind = is_label ? TextNumber::Kind::label : TextNumber::Kind::unit;
  number.is_ranked = is_ranked_line_;
  number.row_key = spot.row_key;
  number.label = spot.label;
  number.mark = mark_text;
  number.unit_text = unit;
  number.right = spot.right;
  is_label ? note_label(line, spot, number) : note_unit(line, spot, is_time, number);
  const std::string_view text = line.substr(spot.begin, spot.end - spot.begin);
  const std::size_t stop = std::min(line.find_first_of(" \t", spot.end), line.size());
  const std::string_view tail = line.substr(spot.end, stop - spot.end);
  number.ends_token = number.ends_token && (tail.empty() || (spot.gap.empty() && tail == spot.unit));
  number.is_duration = number.is_duration || spot.is_duration || is_time;
  number.has_comma = number.has_comma || text.find(',') != std::string_view::npos;
  if (spot.unit == "%" && rough_value(text) == -100) {
    number.has_unknown = true;
    return;
  }
  ++number.units[spot.is_duration ? "s" : std::string(spot.unit)];
  number.seen.add(rough_value(text), lines_, has_decimals(text));
  if (index == nullptr) return;
  if (number.indexed == 0) {
    number.index = index_of_label(index->label);
    number.index_pattern = index_key;
    number.is_index_first = index->begin < spot.begin;
  }
  if (number.is_index_first == (index->begin < spot.begin)) ++number.indexed;
}

/// Numbers under one label and several row keys: one for each key if these are few, else one for all.
std::vector<const TextNumber*> TextScan::numbers(std::vector<TextNumber>& merged) const {
  std::map<std::string_view, std::vector<const TextNumber*>> groups;
  for (const auto& [key, number] : numbers_) groups[std::string_view(key).substr(key.find(kSeparator) + 1)].push_back(&number);
  std::vector<const TextNumber*> result;
  merged.reserve(groups.size());
  for (const auto& [key, group] : groups) {
    if (group.size() <= kMostRowLabels) {
      result.insert(result.end(), group.begin(), group.end());
      continue;
    }
    TextNumber all = *group.front();
    for (auto each = group.begin() + 1; each != group.end(); ++each) all.merge(**each);
    all.row_key.clear();
    merged.push_back(std::move(all));
    result.push_back(&merged.back());
  }
  return result;
}

std::vector<Candidate> TextScan::finish() const {
  std::vector<TextNumber> merged;
  std::vector<const TextNumber*> found = numbers(merged);
  std::erase_if(found, [](const TextNumber* number) { return number->seen.count == 0; });
  std::map<std::string, int> keys;  // how many row keys a label has
  const auto shared_part = [](const TextNumber& number) {
    return number.label + kSeparator + number.mark + kSeparator + number.index_pattern + kSeparator +
           (number.kind == TextNumber::Kind::unit ? number.unit_text + kSeparator + number.right : "");
  };
  for (const TextNumber* number : found) ++keys[shared_part(*number)];
  std::vector<Candidate> candidates;
  for (const TextNumber* number : found) {
    const bool needs_key = keys[shared_part(*number)] > 1 && !number->row_key.empty();
    candidates.push_back(candidate_of(*number, needs_key));
    for (Metric& form : candidates.back().forms) {
      if (number->has_unknown) form.absent = {"-100"};
      if (has_other_ranks_ && number->is_ranked) choose_rank(form);
    }
  }
  return candidates;
}

}  // namespace hpcbench
