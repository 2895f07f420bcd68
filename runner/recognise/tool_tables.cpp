#include "recognise/tool_tables.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/written_number.hpp"
#include "imports/table_rows.hpp"
#include "ingest/csv_text.hpp"

namespace hpcbench {

namespace {

/// Takes rows until the first problem.
RowTaker taker_of(ToolTable& table) {
  return {[&table](long long, const std::vector<std::string>& cells, const std::vector<CsvReader::CellPlace>&) {
            if (table.headings.empty()) {
              table.headings = cells;
            } else if (cells.size() == table.headings.size() && cells != table.headings) {
              table.rows.push_back(cells);
            }
          },
          [](long long, const std::string&) {}};
}

/// `foms/0/value` under the heading that names the element by a member: `foms/[name=time]/value`. The names must be the same
/// in all rows.
class ElementNames {
 public:
  ElementNames(const ToolTable& table, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) add_names(table, key);
  }

  /// The elements of one column may have several names: one heading for each.
  std::set<std::string> name(const std::string& heading) const {
    std::set<std::string> made = {""};
    std::string way;
    for (const std::string& token : split(heading, '/')) {
      way += (way.empty() ? "" : "/") + token;
      const auto names = names_.find(way);
      std::set<std::string> longer;
      for (const std::string& begun : made) {
        const std::string before = begun.empty() ? "" : begun + '/';
        if (names == names_.end()) {
          longer.insert(before + token);
        } else {
          for (const std::string& name : names->second) longer.insert(before + name);
        }
      }
      made = std::move(longer);
    }
    return made;
  }

 private:
  /// Elements that have no name yet are named by this member.
  void add_names(const ToolTable& table, const std::string& key) {
    std::map<std::string, std::set<std::string>> found;
    for (std::size_t i = 0; i < table.headings.size(); ++i) {
      const std::string& heading = table.headings[i];
      const std::size_t slash = heading.rfind('/');
      if (slash == std::string::npos || heading.substr(slash + 1) != key) continue;
      const std::string element = heading.substr(0, slash);
      if (!json_array_index(element.substr(element.rfind('/') + 1)) || names_.contains(element)) continue;
      for (const auto& row : table.rows) {
        if (!row[i].empty()) found[element].insert("[" + key + "=" + json_pointer_token(row[i]) + "]");
      }
    }
    names_.insert(found.begin(), found.end());
  }

  std::map<std::string, std::set<std::string>> names_;  // of `foms/0`
};

}  // namespace

bool ToolTable::has(const std::string& heading) const {
  return std::find(headings.begin(), headings.end(), heading) != headings.end();
}

std::vector<std::string> ToolTable::column(const std::string& heading) const {
  const auto found = std::find(headings.begin(), headings.end(), heading);
  std::vector<std::string> cells(rows.size());
  if (found == headings.end()) return cells;
  const auto index = static_cast<std::size_t>(found - headings.begin());
  std::transform(rows.begin(), rows.end(), cells.begin(), [&](const auto& row) { return row[index]; });
  return cells;
}

void ToolTable::keep_rows(const std::string& heading, const std::vector<std::string>& values) {
  const std::vector<std::string> cells = column(heading);
  std::vector<std::vector<std::string>> kept;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::find(values.begin(), values.end(), cells[i]) != values.end()) kept.push_back(rows[i]);
  }
  rows = std::move(kept);
}

void ToolTable::add(const ToolTable& other) {
  for (const std::string& heading : other.headings) {
    if (has(heading)) continue;
    headings.push_back(heading);
    for (auto& row : rows) row.emplace_back();
  }
  const std::size_t before = rows.size();
  rows.resize(before + other.rows.size(), std::vector<std::string>(headings.size()));
  for (std::size_t i = 0; i < headings.size(); ++i) {
    const std::vector<std::string> cells = other.column(headings[i]);
    for (std::size_t row = 0; row < cells.size(); ++row) rows[before + row][i] = cells[row];
  }
}

ToolTable read_csv_table(const ToolFiles& files, const std::string& file) {
  ToolTable table;
  const RowTaker taker = taker_of(table);
  CsvReader reader([&](long long line, std::vector<std::string>& cells) { taker.row(line, cells, {}); },
                   [](long long, const std::string&) {});
  reader.feed(files.text(file));
  reader.finish();
  return table;
}

ToolTable read_json_table(const ToolFiles& files, const std::string& file, const std::string& rows,
                          const std::vector<std::string>& keys) {
  ToolTable plain;
  read_json_rows(files.path(file), rows, {}, taker_of(plain));
  if (keys.empty()) return plain;
  const ElementNames names(plain, keys);
  std::set<std::string> wanted;
  for (const std::string& heading : plain.headings) {
    for (const std::string& name : names.name(heading)) wanted.insert(name);
  }
  ToolTable table;
  table.headings.assign(wanted.begin(), wanted.end());
  ToolTable named;
  read_json_rows(files.path(file), rows, table.headings, taker_of(named));
  for (const std::string& heading : table.headings) {
    const std::vector<std::string> cells = named.column(heading);
    table.rows.resize(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) table.rows[i].push_back(cells[i]);
  }
  return table;
}

ToolTable read_query_table(const ToolFiles& files, const std::string& file, const std::string& query) {
  ToolTable table;
  bool is_whole = true;
  RowTaker taker = taker_of(table);
  taker.problem = [&](long long, const std::string&) { is_whole = false; };
  read_query_rows(files.path(file), query, taker);
  return is_whole ? table : ToolTable();
}

bool are_numbers(const std::vector<std::string>& values) {
  bool has_some = false;
  for (const std::string& value : values) {
    if (value.empty()) continue;
    const WrittenNumber::Kind kind = NumberReader().read_as_written(value).kind;
    if (kind != WrittenNumber::Kind::number && kind != WrittenNumber::Kind::not_finite && kind != WrittenNumber::Kind::absent)
      return false;
    has_some = has_some || kind == WrittenNumber::Kind::number;
  }
  return has_some;
}

FlowYaml table_entry(const ToolFiles& files, const std::vector<std::string>& tables) {
  std::vector<FlowYaml> named;
  for (const std::string& table : tables) named.emplace_back(files.named(table));
  return FlowYaml::map({{"table", tables.size() == 1 ? named.front() : FlowYaml::list(named)}});
}

ToolResults results_of_table(const ToolFiles& files, const std::vector<std::string>& tables, const ToolTable& table) {
  ToolResults results;
  results.is_table = true;
  results.runs = table.rows.size();
  results.entries = {table_entry(files, tables)};
  return results;
}

FlowYaml outcome_by(const std::string& column, const std::vector<std::pair<std::string, FlowYaml>>& words) {
  return FlowYaml::map({{"column", column}, {"is", FlowYaml::map(words)}});
}

ToolColumn table_column(const ToolTable& table, const std::string& heading, ToolColumn::Role role, const std::string& unit) {
  return {role, heading, heading, table.column(heading), unit};
}

}  // namespace hpcbench
