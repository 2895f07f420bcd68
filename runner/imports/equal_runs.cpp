#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/host.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "base/written_number.hpp"
#include "imports/import_request.hpp"
#include "imports/lines_of_runs.hpp"
#include "ingest/attempt_record.hpp"

namespace hpcbench {

namespace {

/// `1.0` and `1`, also of `900 MB/s` and `0.9 GB/s`.
bool are_equal(const GivenValue& a, const GivenValue& b) {
  constexpr double kRounding = 1e-12;  // of a conversion
  const auto factor = unit_factor(b.unit, a.unit);
  return factor && std::abs(a.value - b.value * *factor) <= (a.unit == b.unit ? 0 : kRounding * std::abs(a.value));
}

bool are_equal_numbers(const std::string& a, const std::string& b) {
  const std::optional<double> number = parse_plain_number(a);
  return number && number == parse_plain_number(b);
}

/// `loss is 0.5 there and 0.6 here`: the first difference of two requests; empty if they are the same run.
std::string difference(const ImportRequest& first, const ImportRequest& second) {
  if (first.configuration != second.configuration) return "they are of different configurations";
  std::map<std::string, std::pair<std::string, std::string>> texts;
  std::set<std::string> equal;  // however they are spelled
  for (const GivenValue& given : first.values) texts[given.metric].first = given.printed;
  for (const GivenValue& given : second.values) {
    texts[given.metric].second = given.printed;
    const auto is_same = [&](const GivenValue& other) { return other.metric == given.metric && are_equal(other, given); };
    if (std::any_of(first.values.begin(), first.values.end(), is_same)) equal.insert(given.metric);
  }
  for (const auto& [name, fact] : first.facts) texts["fact:" + name].first = fact;
  for (const auto& [name, fact] : second.facts) texts["fact:" + name].second = fact;
  texts["outcome"] = {first.outcome.value_or(""), second.outcome.value_or("")};
  texts["statistic"] = {first.statistic.value_or(""), second.statistic.value_or("")};
  texts["n"] = {first.n ? std::to_string(*first.n) : "", second.n ? std::to_string(*second.n) : ""};
  texts["file"] = {join(first.files, ";"), join(second.files, ";")};
  const auto shown = [](const std::string& text) { return text.empty() ? "absent" : text; };
  for (const auto& [name, both] : texts) {
    const bool is_number = name.starts_with("fact:" + std::string(kPublished));
    if (both.first == both.second || equal.contains(name) || (is_number && are_equal_numbers(both.first, both.second)))
      continue;
    return fmt::format("{} is {} there and {} here", name, shown(both.first), shown(both.second));
  }
  return "";
}

/// A request's `WHERE` is a path and a line; in facts the name of the file is enough.
std::string short_place(const std::string& where) { return std::filesystem::path(where).filename().string(); }

/// Lines that were left out because another one has their id, by table.
struct SameIds {
  long long count = 0;
  std::string example;  // `line 5 is line 2 again (id abc)`
};

}  // namespace

void merge_equal_runs(ImportPlan& plan) {
  std::map<std::pair<std::string, std::size_t>, std::size_t> by_id;  // id and, for `run`, configuration: index into kept
  std::map<std::pair<std::size_t, std::string>, std::vector<std::size_t>> by_text;  // lines without id
  std::map<std::string, SameIds> same;                                              // by table
  std::vector<ImportRequest> kept;
  for (ImportRequest& request : plan.requests) {
    if (request.id) {
      const auto [found, is_new] = by_id.emplace(scope_of_id(request), kept.size());
      if (!is_new) {
        const ImportRequest& first = kept[found->second];
        if (const std::string differs = difference(first, request); !differs.empty()) {
          plan.problems.push_back(printable(fmt::format("{}: error: `{}` is also at {}, and the two differ: {}", request.where,
                                                        *request.id, first.where, differs)) +
                                  "\n  = one id is one run: correct one of the lines, or give each run an id of its own");
          continue;
        }
        SameIds& of_table = same[request.line->table];
        if (++of_table.count == 1)
          of_table.example = fmt::format("{} is {} again (`{}`)", request.where, first.where, *request.id);
        continue;
      }
    } else if (request.line && request.files.empty()) {
      by_text[{request.configuration, request.line->text}].push_back(kept.size());
    }
    kept.push_back(std::move(request));
  }
  for (const auto& [place, lines] : by_text) {
    std::set<std::pair<std::string, long long>> runs;  // contents of the table, and line: the same in a copy is one run
    std::vector<std::string> places;
    for (const std::size_t line : lines) {
      const ImportRequest::TableLine& of_table = *kept[line].line;
      const std::string contents = lines.size() < 2 ? "" : sha256_of_file(of_table.table).value_or(of_table.table);
      if (runs.emplace(contents, of_table.line).second) places.push_back(short_place(kept[line].where));
    }
    if (places.size() < 2) continue;
    for (const std::size_t line : lines) kept[line].facts[kEqualLinesFact] = join(places, ", ");
  }
  for (const auto& [table, ids] : same) {
    plan.notes.push_back(printable(fmt::format("{}: {} with the id of another line, and equal to it, {} no run of {} own: {}",
                                               table, counted(ids.count, "line", "lines"), ids.count == 1 ? "is" : "are",
                                               ids.count == 1 ? "its" : "their", ids.example)));
  }
  plan.requests = std::move(kept);
}

}  // namespace hpcbench
