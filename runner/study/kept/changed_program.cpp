#include "study/kept/changed_program.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "render/attempt.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

namespace {

namespace fs = std::filesystem;

/// A working directory with its placeholders filled in. Empty where a run's own folder is in it: nothing in there was there
/// before the run.
std::string workdir_of(const ProgramQuestion& question, std::size_t configuration) {
  const std::optional<std::string>& said = question.experiment.workdir;
  if (!said || said->find("{{") == std::string::npos) return said == "attempt" ? "" : said.value_or(".");
  const Configuration& point = question.plan.configurations[configuration];
  Bindings bindings = question.plan.all_bindings(point);
  bindings.insert(bindings.end(), point.work->parameters.begin(), point.work->parameters.end());
  try {
    return fill_placeholders(*said, bindings);
  } catch (const InputError&) {
    return "";
  }
}

struct KeptRuns {
  ProgramVersions versions;
  AttemptKey newest;
};

KeptRuns find_kept_runs(const ProgramQuestion& question, const Store& store) {
  KeptRuns kept;
  double newest_unix_s = -1;
  std::string config_id, workdir;
  bool asked = false;
  store.visit_program_facts(question.experiment.name,
                            [&](const AttemptKey& key, double intended_unix_s, const NameMap<std::string>& facts) {
                              if (key.config_id != config_id) {
                                config_id = key.config_id;
                                const std::optional<std::size_t> found = question.plan.find(config_id);
                                asked = found.has_value();
                                if (found) workdir = workdir_of(question, *found);
                              }
                              if (!asked || !key.run.is_repeat() || key.run.number > question.plan.repeats) return;
                              kept.versions.add(config_id, workdir, facts);
                              if (intended_unix_s <= newest_unix_s) return;
                              newest_unix_s = intended_unix_s;
                              kept.newest = key;
                            });
  return kept;
}

std::optional<std::string> present_hash(const ExecutedFile& file, const std::string& call_folder) {
  if (fs::path(file.path).is_absolute()) return code_hash(file.path);
  if (file.folder.empty() || call_folder.empty()) return std::nullopt;
  return code_hash((fs::path(call_folder) / file.folder / file.path).lexically_normal().string());
}

bool sets_path(const Experiment& experiment) {
  const auto has_path = [](const auto& variables) {
    return std::any_of(variables.begin(), variables.end(), [](const auto& variable) { return variable.first == "PATH"; });
  };
  return has_path(experiment.work.environment) || std::any_of(experiment.overrides.begin(), experiment.overrides.end(),
                                                              [&](const Override& each) { return has_path(each.environment); });
}

}  // namespace

std::vector<ProgramChange> changed_for_run(const ProgramQuestion& question, const Store& store) {
  const std::string here = fs::current_path().string();
  const char* const inherited = std::getenv("PATH");
  const bool own_path = sets_path(question.experiment);
  return find_kept_runs(question, store).versions.changes([&](const ExecutedFile& file) {
    if (!file.on_path || own_path || inherited == nullptr) return present_hash(file, here);
    const std::optional<ProgramFile> found = program_on_path({file.name}, inherited, here);
    return found ? std::optional(found->sha256) : std::nullopt;
  });
}

std::vector<ProgramChange> changed_since_runs(const ProgramQuestion& question, const Store& store) {
  const KeptRuns kept = find_kept_runs(question, store);
  if (kept.versions.empty()) return {};
  const std::string run_json = read_file_if_there(question.results + "/" + to_string(kept.newest) + "/run.json").value_or("");
  const std::string call_folder = run_json_field(run_json, "call_folder");
  return kept.versions.changes([&](const ExecutedFile& file) { return present_hash(file, call_folder); });
}

std::string text_of(const std::vector<ProgramChange>& changes) {
  std::vector<std::string> texts;
  for (const ProgramChange& change : changes) texts.push_back(change.text());
  return join(texts, ", ");
}

}  // namespace hpcbench
