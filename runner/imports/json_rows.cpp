#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "imports/table_rows.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/unpacked_file.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLargestDocument = std::size_t{64} << 20;
constexpr std::size_t kMostColumns = 10'000;
constexpr std::size_t kMostCells = 20'000'000;  // of all rows

using Cells = std::map<std::string, std::string, std::less<>>;

/// Adds the scalars in a value, named by their way into it. `left_out`: a member that is not followed, as the row is in it.
void flatten(std::string_view value, const std::string& name, std::string_view left_out, Cells& cells) {
  const std::string prefix = name.empty() ? "" : name + '/';
  JsonMembers members;
  if (value.starts_with('{') && scan_object(value, members)) {
    for (const JsonMember& member : members) {
      if (member.value.data() != left_out.data())
        flatten(member.value, prefix + json_pointer_token(json_member_name(member)), {}, cells);
    }
    return;
  }
  if (value.starts_with('[')) {
    const auto items = scan_array(value).value_or(std::vector<std::string_view>());
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].data() != left_out.data()) flatten(items[i], prefix + std::to_string(i), {}, cells);
    }
    return;
  }
  if (!name.empty() && cells.size() < kMostColumns) cells.emplace(name, json_scalar_text(value).value_or(""));
}

struct JsonRow {
  long long line = 1;
  Cells cells;
};

/// Finds the rows of one document, then gives them with the headings of all.
class JsonTable {
 public:
  JsonTable(const std::vector<std::string>& wanted, const RowTaker& taker) : wanted_(wanted), taker_(taker) {}

  void read(std::string_view document, const std::vector<std::string>& tokens, long long first_line) {
    document_ = document;
    first_line_ = first_line;
    around_.clear();
    follow(trim(document), tokens, 0, "");
  }

  bool has_rows() const { return !rows_.empty(); }

  void give() {
    std::vector<std::string> headings;
    std::set<std::string> known;
    for (const JsonRow& row : rows_) {
      for (const auto& [name, text] : row.cells) {
        if (known.insert(name).second && headings.size() < kMostColumns) headings.push_back(name);
      }
    }
    std::vector<CsvReader::CellPlace> places(headings.size(), {rows_.empty() ? 1 : rows_.front().line, 1});
    taker_.row(places.empty() ? 1 : places.front().line, headings, places);
    for (const JsonRow& row : rows_) {
      std::vector<std::string> cells;
      for (const std::string& heading : headings) {
        const auto cell = row.cells.find(heading);
        cells.push_back(cell == row.cells.end() ? "" : cell->second);
      }
      std::fill(places.begin(), places.end(), CsvReader::CellPlace{row.line, 1});
      taker_.row(row.line, cells, places);
    }
  }

 private:
  void follow(std::string_view value, const std::vector<std::string>& tokens, std::size_t depth, const std::string& name) {
    if (depth == tokens.size()) return add_row(value, name);
    const std::string& token = tokens[depth];
    around_.push_back(value);
    JsonMembers members;
    if (value.starts_with('{') && scan_object(value, members)) {
      for (const JsonMember& member : members) {
        const std::string key = json_member_name(member);
        if (token == "*" || key == token) follow(member.value, tokens, depth + 1, key);
      }
    } else if (const auto items = value.starts_with('[') ? scan_array(value) : std::nullopt) {
      const std::optional<std::size_t> only = json_array_index(token);
      for (std::size_t i = 0; i < items->size(); ++i) {
        if (token != "*" && only != i && !json_token_selects(token, (*items)[i])) continue;
        if (token == "*") element_ = {i, items->size()};
        follow((*items)[i], tokens, depth + 1, name);
      }
    }
    around_.pop_back();
  }

  void add_row(std::string_view value, const std::string& name) {
    if (cells_ > kMostCells) {
      if (!std::exchange(is_too_large_, true)) taker_.problem(first_line_, "more than 20 million cells");
      return;
    }
    JsonRow row;
    row.line = first_line_ + std::count(document_.data() + counted_to_, value.data(), '\n') + lines_counted_;
    lines_counted_ = row.line - first_line_;
    counted_to_ = static_cast<std::size_t>(value.data() - document_.data());
    flatten(value, value.starts_with('{') || value.starts_with('[') ? "" : json_pointer_token(name), {}, row.cells);
    std::string_view inner = value;
    for (auto outer = around_.rbegin(); outer != around_.rend(); ++outer) {
      if (outer->starts_with('{')) flatten(*outer, "", inner, row.cells);
      inner = *outer;
    }
    for (const std::string& heading : wanted_) find_wanted(heading, value, row);
    cells_ += row.cells.size();
    rows_.push_back(std::move(row));
  }

  /// A heading with `*` or `[name=solve]`. Of a list as long as that of the row's last `*`, its element counts.
  void find_wanted(const std::string& heading, std::string_view value, JsonRow& row) {
    if (row.cells.contains(heading) || (heading.find('[') == std::string::npos && heading.find('*') == std::string::npos))
      return;
    std::vector<std::string_view> found = json_values_at(value, '/' + heading);
    for (auto outer = around_.rbegin(); outer != around_.rend() && found.empty(); ++outer)
      found = json_values_at(*outer, '/' + heading);
    if (found.size() > 1 && found.size() == element_.second) found = {found[element_.first]};
    if (found.size() > 1)
      taker_.problem(row.line, fmt::format("{} names {} values of this row: it must name one", heading, found.size()));
    row.cells.emplace(heading, found.size() == 1 ? json_scalar_text(found.front()).value_or("") : "");
  }

  const std::vector<std::string>& wanted_;
  const RowTaker& taker_;
  std::string_view document_;
  long long first_line_ = 1;
  long long lines_counted_ = 0;
  std::size_t counted_to_ = 0;
  std::size_t cells_ = 0;
  bool is_too_large_ = false;
  std::vector<std::string_view> around_;         // the values on the way to the row
  std::pair<std::size_t, std::size_t> element_;  // of the last `*` in a list: which one, of how many
  std::vector<JsonRow> rows_;
};

}  // namespace

bool is_json_table(const std::string& path) {
  return unpacked_name(path).ends_with(".json") || unpacked_name(path).ends_with(".jsonl");
}

void read_json_rows(const std::string& path, const std::string& rows, const std::vector<std::string>& wanted,
                    const RowTaker& taker) {
  std::string text;
  if (const auto unreadable = read_text(path, kLargestDocument, text)) return taker.problem(1, *unreadable);
  if (text.size() > kLargestDocument) return taker.problem(1, "more than 64 MiB of JSON in one table");
  const std::vector<std::string> tokens = json_pointer_tokens(rows).value_or(std::vector<std::string>());
  JsonTable table(wanted, taker);
  const std::size_t first_end = text.find('\n', text.find_first_not_of(" \t\r\n"));
  const bool is_lines = is_json(std::string_view(text).substr(0, first_end)) && !is_json(text);
  if (is_lines) {
    std::size_t begin = 0;
    for (long long line = 1; begin < text.size(); ++line) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string_view one = trim(std::string_view(text).substr(begin, end - begin));
      if (!one.empty() && !is_json(one)) taker.problem(line, "not JSON");
      if (!one.empty() && is_json(one)) table.read(one, tokens, line);
      begin = end + 1;
    }
  } else if (const std::optional<std::size_t> offset = json_error_offset(text)) {
    return taker.problem(
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(*offset, text.size())), '\n'),
        "not JSON");
  } else {
    table.read(text, tokens, 1);
  }
  if (!table.has_rows())
    return taker.problem(1, fmt::format("nothing is `rows: {}`: a pointer such as /experiments/* names the rows", rows));
  table.give();
}

}  // namespace hpcbench
