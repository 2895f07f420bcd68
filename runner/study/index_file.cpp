#include "study/index_file.hpp"

#include <fmt/format.h>

#include <map>

#include "base/files.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

/// A value in a tab-separated file: what would break a line is written as JSON writes it.
std::string tsv_field(const Value& value) {
  return value.text().find_first_of("\t\n\r") == std::string::npos ? value.text() : value.canonical();
}

}  // namespace

void write_index_file(const std::vector<AttemptState>& runs, const Study& study) {
  std::map<std::string, std::map<State, int>> outcomes;
  for (const AttemptState& run : runs) ++outcomes[run.key.config_id][run.state];
  std::string text = "config_id\t" + join(study.plan.axes, "\t") + "\toutcomes\n";
  for (const Configuration& configuration : study.plan.configurations) {
    text += configuration.id;
    for (const Value& value : configuration.values) text += '\t' + tsv_field(value);
    std::string counts;
    for (const auto& [state, count] : outcomes[configuration.id]) {
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, to_string(state));
    }
    text += '\t' + (counts.empty() ? std::string("-") : counts) + '\n';
  }
  write_file(study.results + "/index.tsv", text, Durability::none);
}

}  // namespace hpcbench
