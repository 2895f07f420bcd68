#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "imports/import_request.hpp"

namespace hpcbench {

namespace {

/// `loss is 0.5 there and 0.6 here`: the first difference of two requests; empty if they are the same run.
std::string difference(const ImportRequest& first, const ImportRequest& second) {
  if (first.configuration != second.configuration) return "they are of different configurations";
  std::map<std::string, std::pair<std::string, std::string>> texts;
  for (const GivenValue& given : first.values) texts[given.metric].first = given.printed;
  for (const GivenValue& given : second.values) texts[given.metric].second = given.printed;
  for (const auto& [name, fact] : first.facts) texts["fact:" + name].first = fact;
  for (const auto& [name, fact] : second.facts) texts["fact:" + name].second = fact;
  texts["outcome"] = {first.outcome.value_or(""), second.outcome.value_or("")};
  texts["statistic"] = {first.statistic.value_or(""), second.statistic.value_or("")};
  texts["n"] = {first.n ? std::to_string(*first.n) : "", second.n ? std::to_string(*second.n) : ""};
  texts["file"] = {join(first.files, ";"), join(second.files, ";")};
  const auto shown = [](const std::string& text) { return text.empty() ? "absent" : text; };
  for (const auto& [name, both] : texts) {
    if (both.first == both.second) continue;
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
      const std::size_t scope = request.id->starts_with("run ") ? request.configuration + 1 : 0;
      const auto [found, is_new] = by_id.emplace(std::pair(*request.id, scope), kept.size());
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
    if (lines.size() < 2) continue;
    std::vector<std::string> places;
    for (const std::size_t line : lines) places.push_back(short_place(kept[line].where));
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
