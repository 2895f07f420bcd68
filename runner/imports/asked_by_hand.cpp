#include "imports/asked_by_hand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/json_text.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/set_aside.hpp"
#include "study/index.hpp"

namespace hpcbench {

namespace {

std::vector<GivenValue> read_values(std::string_view list) {
  std::vector<GivenValue> values;
  JsonMembers members;
  for (const std::string_view item : scan_array(list).value_or(std::vector<std::string_view>())) {
    if (!scan_object(item, members)) continue;
    const auto text = [&](std::string_view key) { return json_string(find_member(members, key)).value_or(""); };
    values.push_back({text("metric"), json_number(find_member(members, "value")).value_or(0), text("unit"), text("printed")});
  }
  return values;
}

struct HandImport {
  AttemptKey key;
  Imported imported;
};

/// Imports by `hpcbench ingest` that count, of one configuration: of each run the latest attempt.
std::vector<HandImport> imports_by_hand(const Study& study, const std::string& config_id) {
  std::map<RunName, HandImport> latest;
  for (const AttemptKey& key : imported_attempts_of(study.results, config_id)) {
    const std::string folder = study.results + '/' + to_string(key);
    const auto imported = parse_imported(read_file_if_there(folder + '/' + kImportedFile).value_or(""));
    const std::optional<Claim> claim = read_claim(folder);
    const bool counts = imported && !imported->by_file && !(claim && claim->revoked) && !read_set_aside(folder);
    if (counts) latest[key.run] = {key, *imported};
  }
  std::vector<HandImport> imports;
  for (auto& [run, import] : latest) imports.push_back(std::move(import));
  return imports;
}

}  // namespace

void keep_given_before(const Study& study, ImportRequest& request) {
  if (!request.files.empty()) return;
  for (const HandImport& earlier : imports_by_hand(study, study.plan.configurations[request.configuration].id)) {
    if (!earlier.imported.sources.empty()) continue;
    const std::optional<ImportRequest> before = request_again(study, earlier.key, earlier.imported);
    if (!before) continue;
    for (const GivenValue& given : before->values) {
      const auto is_same = [&](const GivenValue& other) { return other.metric == given.metric; };
      if (std::none_of(request.values.begin(), request.values.end(), is_same)) request.values.push_back(given);
    }
    request.facts.insert(before->facts.begin(), before->facts.end());
    if (!request.statistic) request.statistic = before->statistic;
    if (!request.n) request.n = before->n;
    if (!request.note) request.note = before->note;
  }
}

namespace {

/// `a.log has other contents` where a request names files of an earlier import and is not that import again; empty if it names
/// none, or is another run that shares a file.
std::string other_than_before(const ImportRequest& request, const Imported& earlier) {
  std::size_t shared = 0;
  for (const ImportedSource& source : earlier.sources) {
    if (std::find(request.files.begin(), request.files.end(), source.path) == request.files.end()) continue;
    if (sha256_of_file(source.path) != source.sha256) return source.path + " has other contents";
    ++shared;
  }
  const bool is_part = shared > 0 && (shared == earlier.sources.size() || shared == request.files.size());
  return is_part && request.files.size() != earlier.sources.size() ? request.files.front() + " stands beside other files" : "";
}

}  // namespace

void refuse_changed_files(const Study& study, const std::vector<ImportRequest>& requests) {
  std::map<std::size_t, std::vector<HandImport>> known;  // by configuration
  for (const ImportRequest& request : requests) {
    const auto [point, is_new] = known.try_emplace(request.configuration);
    if (is_new) point->second = imports_by_hand(study, study.plan.configurations[request.configuration].id);
    for (const HandImport& earlier : point->second) {
      const std::string differs = other_than_before(request, earlier.imported);
      if (differs.empty()) continue;
      const std::string run = fmt::format("{}/{}/{}", study.experiment.name, earlier.key.config_id, to_string(earlier.key.run));
      throw InputError(fmt::format(
          "error: {} than when it was imported as {}, and both would count\n  = if it is that run, corrected: hpcbench "
          "set-aside {} --why \"corrected log\" --results {}, then ingest it again\n  = if it is another run: give "
          "the file another name",
          differs, run, run, study.results_root));
    }
  }
}

std::string asked_json(const ImportRequest& request) {
  JsonWriter json;
  json.begin_object().key("values").begin_array();
  for (const GivenValue& given : request.values) {
    json.begin_object().member("metric", given.metric).member("value", given.value).member("unit", given.unit);
    json.member("printed", given.printed).end();
  }
  return json.end().member("facts", request.facts).member("outcome", request.outcome).end().take();
}

std::optional<ImportRequest> request_again(const Study& study, const AttemptKey& key, const Imported& imported) {
  const std::optional<std::size_t> configuration = study.plan.find(key.config_id);
  JsonMembers asked;
  if (imported.by_file || !imported.asked || !configuration || !scan_object(*imported.asked, asked)) return std::nullopt;
  ImportRequest request;
  request.where = fmt::format("{}/{}", study.experiment.name, to_string(key));
  request.configuration = *configuration;
  for (const ImportedSource& source : imported.sources) {
    if (!source.file || source.line) return std::nullopt;
    request.files.push_back(fmt::format("{}/{}/{}", study.results, to_string(key), *source.file));
  }
  request.metrics = study.plan.configurations[*configuration].work->metrics;
  request.values = read_values(find_member(asked, "values"));
  request.facts = read_texts_object(find_member(asked, "facts"));
  request.outcome = json_string(find_member(asked, "outcome"));
  request.statistic = imported.statistic;
  request.note = imported.note;
  if (imported.n) request.n = static_cast<int>(*imported.n);
  return request;
}

}  // namespace hpcbench
