#include "imports/asked_by_hand.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/json_text.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

std::string value_object(const GivenValue& given) {
  return fmt::format(R"({{"metric":{},"value":{},"unit":{},"printed":{}}})", json_quote(given.metric), given.value,
                     json_quote(given.unit), json_quote(given.printed));
}

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

}  // namespace

std::string asked_json(const ImportRequest& request) {
  std::vector<std::string> values;
  for (const GivenValue& given : request.values) values.push_back(value_object(given));
  return fmt::format(R"({{"values":[{}],"facts":{},"outcome":{}}})", join(values, ","), texts_object(request.facts),
                     request.outcome ? json_quote(*request.outcome) : "null");
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
