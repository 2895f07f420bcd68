#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/study_options.hpp"
#include "study/index.hpp"
#include "study/last_run.hpp"
#include "study/status_view.hpp"
#include "study/study.hpp"
#include "submit/experiment_lock.hpp"

namespace hpcbench {

namespace {

struct ListedStudy {
  std::string name;
  StateCounts counts;  // of the runs on record
  std::optional<LastRun> last;
  std::optional<std::string> owner;  // who runs it now
};

std::vector<ListedStudy> list_studies(const std::string& root) {
  std::vector<ListedStudy> studies;
  for (const std::string& name : experiments_on_disk(root)) {
    ListedStudy study{name, {}, read_last_run_of(root, name), experiment_owner(root + "/" + name)};
    for (const AttemptState& run : counting_states(open_for_reading(root, name).states)) {
      if (run.standing == Standing::normal) ++study.counts[run.state];
    }
    studies.push_back(std::move(study));
  }
  return studies;
}

std::string studies_text(const std::vector<ListedStudy>& studies) {
  std::size_t width = 0;
  for (const ListedStudy& study : studies) width = std::max(width, study.name.size());
  std::string text;
  for (const ListedStudy& study : studies) {
    text += fmt::format("{:<{}}  {}: {}{}\n", study.name, width, counted(study.counts.all(), "run", "runs"),
                        study.counts.text(), study.owner ? "; run now by " + *study.owner : "");
    if (study.last) text += fmt::format("{:<{}}  {}\n", "", width, how_it_was_read(*study.last));
  }
  return text;
}

std::string studies_json(const std::string& root, const std::vector<ListedStudy>& studies) {
  JsonWriter json(1);
  json.begin_object(JsonLayout::lines).member("schema", 1).member("results", root).key("studies");
  json.begin_array(JsonLayout::lines);
  for (const ListedStudy& study : studies) {
    json.begin_object(JsonLayout::lines).member("experiment", study.name).key("counts").begin_object(JsonLayout::lines);
    for (const auto& [state, count] : study.counts) json.member(to_string(state), count);
    json.end().member("file", text_or_null(study.last ? study.last->file : ""));
    json.member("profile", text_or_null(study.last ? study.last->profile : ""));
    json.member("site", text_or_null(study.last ? study.last->site : "")).member("owner", study.owner).end();
  }
  return json.end().end().take() + "\n";
}

int print_studies(const std::string& results, const std::string& format) {
  const std::string root = std::filesystem::absolute(results).lexically_normal().string();
  const std::vector<ListedStudy> studies = list_studies(root);
  if (format == "json") {
    print_data(studies_json(root, studies));
  } else if (studies.empty()) {
    say(fmt::format("{} holds no results yet{}", root, where_results_are(root, "", "")));
  } else {
    print_data(studies_text(studies));
  }
  return 0;
}

}  // namespace

void add_ls(commandline::Command& command) {
  const auto results = std::make_shared<std::string>("results");
  const auto format = std::make_shared<std::string>("text");
  command.add_option("--format", *format, "text or json").one_of({"text", "json"});
  add_results_option(command, *results);
  command.action([=] { return print_studies(*results, *format); });
}

}  // namespace hpcbench
