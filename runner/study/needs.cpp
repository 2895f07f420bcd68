#include "study/needs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/host.hpp"
#include "base/process.hpp"
#include "plan/placeholders.hpp"
#include "render/input_decks.hpp"
#include "study/study.hpp"

namespace hpcbench {

namespace {

constexpr std::array kDataNames = {"data", "dataset", "data_dir", "data_path", "model"};
/// What the trainer's `model` may be instead of a path.
constexpr std::array<std::string_view, 4> kModelSizes = {"tiny", "small", "base", "large"};
/// Folders of scripts/get-data.sh, and the sets that bring them.
constexpr std::array<std::pair<const char*, const char*>, 4> kPublicSets = {
    {{"squad1", "squad1"}, {"squad2", "squad2"}, {"mnist-full", "mnist"}, {"bert-base-uncased", "bert"}}};

/// Whether each run has a folder of its own, so that nobody can look into it before.
bool has_own_folder(const Study& study) {
  const std::string said = study.experiment.workdir.value_or("");
  return said == "attempt" || !placeholders_in(said).empty();
}

/// The folder in which commands run, if it is the same for all.
std::string working_folder(const Study& study) {
  const std::string said = study.experiment.workdir.value_or("");
  if (said.empty() || has_own_folder(study)) return std::filesystem::current_path().string();
  return std::filesystem::absolute(said).string();
}

bool is_there(const std::string& folder, const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::path(folder) / path, ignored);
}

bool is_fixed(const std::string& text) { return placeholders_in(text).empty(); }

bool can_start(const std::string& folder, const std::string& program) {
  const bool is_path = program.find('/') != std::string::npos;
  return is_path ? ::access((std::filesystem::path(folder) / program).c_str(), X_OK) == 0 : find_program(program).has_value();
}

/// `[python3 train.py]`: a whole line in place of the program's name.
bool is_line(const Work& work, const std::string& folder) {
  const std::string& line = work.command.front();
  const std::string program = line.substr(0, line.find(' '));
  return work.command.size() == 1 && program.size() < line.size() && is_fixed(program) && can_start(folder, program) &&
         !can_start(folder, line);
}

/// `elsewhere`: jobs run on other machines, which may have programs of their own.
void examine_program(const Work& work, const std::string& folder, bool own_folder, bool elsewhere, Findings& findings) {
  if (work.shell || work.command.empty() || work.container) return;
  const std::string& program = work.command.front();
  if (is_line(work, folder)) {
    note_finding(findings, Finding::Kind::problem, fmt::format("`{}` is one argument, so the name of a program", program),
                 "write each argument by itself: command: [python3, train.py, \"{{size}}\"]");
    return;
  }
  if (!is_fixed(program)) return;
  const bool is_path = program.find('/') != std::string::npos;
  if (is_path && own_folder && program.front() != '/') return;
  if (!can_start(folder, program)) {
    const bool on_nodes = elsewhere && (!is_path || program.front() == '/');
    const bool may_come = !work.modules.empty() || !work.setup.empty() || on_nodes;
    note_finding(findings, may_come ? Finding::Kind::warning : Finding::Kind::problem,
                 is_path ? fmt::format("the program {} is not there, or not executable", program)
                         : fmt::format("the program `{}` is not on PATH", program),
                 on_nodes   ? "all is well if the compute nodes have it"
                 : may_come ? "all is well if `modules` or `setup` bring it"
                            : "install it, mend `command`, or let `setup` or `modules` bring it");
  }
  if (own_folder) return;
  for (std::size_t i = 1; i < work.command.size(); ++i) {
    const std::string& argument = work.command[i];
    const std::string extension = std::filesystem::path(argument).extension().string();
    const bool is_script = extension == ".py" || extension == ".sh" || extension == ".R" || extension == ".jl";
    if (is_script && argument.front() != '-' && is_fixed(argument) && argument.find(' ') == std::string::npos &&
        !is_there(folder, argument)) {
      note_finding(findings, Finding::Kind::problem, fmt::format("the command names {}, which is not in {}", argument, folder),
                   "call hpcbench in the folder of your programs, or set `workdir`");
    }
  }
}

/// What apptainer takes as an image and is no file of that name.
bool is_image_source(std::string_view image) {
  constexpr std::array<std::string_view, 4> kSchemes = {"docker-archive:", "docker-daemon:", "oci:", "oci-archive:"};
  return image.find("://") != std::string_view::npos ||
         std::any_of(kSchemes.begin(), kSchemes.end(), [&](std::string_view scheme) { return image.starts_with(scheme); });
}

/// The runtime of a container, and an image that is a file.
void examine_container(const Work& work, const std::string& folder, bool own_folder, bool elsewhere, Findings& findings) {
  if (!work.container) return;
  const Container& container = *work.container;
  const bool is_plugin = container.runtime == ContainerRuntime::pyxis;  // of Slurm
  const std::string runtime = to_string(container.runtime);
  if (!is_plugin && !find_program(runtime)) {
    const bool may_come = elsewhere || !work.modules.empty() || !work.setup.empty();
    note_finding(findings, may_come ? Finding::Kind::warning : Finding::Kind::problem,
                 fmt::format("`{}`, which is to run the container, is not on PATH", runtime),
                 may_come ? "all is well if the compute nodes have it; `doctor --probe` asks them"
                          : "install it, or choose another `runtime` of `container`");
  }
  const std::string& image = container.image;
  const bool is_file = image.starts_with('/') || image.starts_with("./") ||
                       (container.runtime == ContainerRuntime::apptainer && !is_image_source(image));
  if (!is_file || !is_fixed(image) || (own_folder && !image.starts_with('/')) || is_there(folder, image)) return;
  note_finding(findings, elsewhere ? Finding::Kind::warning : Finding::Kind::problem,
               fmt::format("the image {} of `container` is not there (seen from {})", image, folder),
               "mend the path, or build the image first");
}

/// `data/squad2`: the set that scripts/get-data.sh brings under that name; empty if it brings none.
std::string public_set(const std::filesystem::path& path) {
  for (const auto& [folder, set] : kPublicSets) {
    if (path.filename() == folder) return set;
  }
  return "";
}

using NamedPaths = std::vector<std::pair<std::string, std::string>>;  // name, path

/// What to do about all that is missing of the trainer: the one command that brings it, if one does.
std::string advice_on_data(const NamedPaths& missing) {
  const std::string parent = std::filesystem::path(missing.front().second).parent_path().string();
  std::string sets;
  for (const auto& [name, path] : missing) {
    const std::string set = public_set(path);
    if (set.empty() || std::filesystem::path(path).parent_path() != parent)
      return "mend the path: it is relative to the folder in which hpcbench is called, or to `workdir`";
    sets += " " + set;
  }
  return fmt::format("`scripts/get-data.sh{}{}` brings {}", parent == "data" ? "" : " --to " + (parent.empty() ? "." : parent),
                     sets, missing.size() == 1 ? "it" : "them");
}

bool may_be_path(const Study& study, const std::string& name, const std::string& text) {
  if (name != "model") return true;
  return study.experiment.is_trainer() && std::find(kModelSizes.begin(), kModelSizes.end(), text) == kModelSizes.end();
}

/// Adds to `missing` what parameters and axes name and is not there; `seen` holds what was looked at before.
void look_for_data(const Study& study, const Bindings& bindings, const std::string& folder, NamedPaths& seen,
                   NamedPaths& missing) {
  for (const char* name : kDataNames) {
    const Value* value = find_binding(bindings, name);
    if (value == nullptr || !value->is_text() || !is_fixed(value->text()) || value->text().empty()) continue;
    const std::pair<std::string, std::string> named = {name, value->text()};
    if (!may_be_path(study, name, named.second) || std::find(seen.begin(), seen.end(), named) != seen.end()) continue;
    seen.push_back(named);
    if (!is_there(folder, named.second)) missing.push_back(named);
  }
}

void note_missing_data(const Study& study, const std::string& folder, const NamedPaths& missing, Findings& findings) {
  const bool surely = study.experiment.is_trainer();
  for (const auto& [name, path] : missing) {
    note_finding(findings, surely ? Finding::Kind::problem : Finding::Kind::warning,
                 fmt::format("{}: {} is not there (seen from {})", name, path, folder),
                 surely
                     ? advice_on_data(missing)
                     : "if it is a path, mend it: it is relative to the folder in which hpcbench is called, or to `workdir`");
  }
}

void examine_work(const Study& study, Findings& findings) {
  const std::string folder = working_folder(study);
  const bool own_folder = has_own_folder(study);
  const Work* last = nullptr;
  NamedPaths seen;
  NamedPaths missing;
  for (const Configuration& configuration : study.selected().configurations) {
    Bindings bindings = study.selected().bindings(configuration);
    bindings.insert(bindings.end(), configuration.work->parameters.begin(), configuration.work->parameters.end());
    look_for_data(study, bindings, folder, seen, missing);
    const bool elsewhere = !executor_kind(study.experiment.executor).runs_here;
    if (configuration.work.get() != last) {
      if (!study.experiment.is_trainer()) examine_program(*configuration.work, folder, own_folder, elsewhere, findings);
      examine_container(*configuration.work, folder, own_folder, elsewhere, findings);
    }
    last = configuration.work.get();
  }
  note_missing_data(study, folder, missing, findings);
}

/// Input decks are read here, so that what is wrong with one is known before the first run.
void examine_decks(const Study& study, Findings& findings) {
  const Plan& plan = study.selected();
  const Work* last = nullptr;
  for (const Configuration& configuration : plan.configurations) {
    if (configuration.work.get() == last) continue;
    last = configuration.work.get();
    Bindings bindings = plan.all_bindings(configuration);
    bindings.insert(bindings.end(), last->parameters.begin(), last->parameters.end());
    for (const Preparation& each : study.experiment.preparations)
      bindings.emplace_back(each.dir(), Value::from_text(each.name));
    for (const char* const name : {"gpus", "ranks", "repeat", "seed"}) bindings.emplace_back(name, Value::from_integer(1));
    bindings.emplace_back("resume_from", Value::from_text(""));
    for (const InputDeck& deck : last->files) {
      std::string sha256;
      try {
        filled_deck(std::filesystem::absolute(deck.from).string(), bindings, sha256);
      } catch (const InputError& problem) {
        const std::string_view text = problem.what();
        const bool is_about_file = text.starts_with("error: ");  // else it names a place within, and says what to write there
        note_finding(findings, Finding::Kind::problem, std::string(is_about_file ? text.substr(7) : text),
                     is_about_file ? "`files` names it relative to the folder in which hpcbench is called" : "");
      }
    }
  }
}

void examine_trainer(const Study& study, Findings& findings) {
  if (!study.experiment.is_trainer()) return;
  const std::string trainer = trainer_program();
  if (::access(trainer.c_str(), X_OK) != 0) {
    note_finding(findings, Finding::Kind::problem, fmt::format("the trainer {} is not there", trainer),
                 "`pip install 'hpcbench-runner[trainer]'` brings it, or scripts/setup.sh (without --runner-only) builds it");
  }
}

}  // namespace

void note_finding(Findings& findings, Finding::Kind kind, std::string text, std::string advice) {
  const auto same = [&](const Finding& finding) { return finding.kind == kind && finding.text == text; };
  if (std::any_of(findings.begin(), findings.end(), same)) return;
  findings.push_back({kind, std::move(text), std::move(advice)});
}

void examine_needs(const Study& study, Findings& findings) {
  examine_trainer(study, findings);
  examine_work(study, findings);
  examine_decks(study, findings);
  if (study.experiment.preparations.empty()) return;
  for (Finding& finding : findings) {
    if (finding.kind != Finding::Kind::problem) continue;
    finding.kind = Finding::Kind::warning;
    finding.advice = "all is well if `prepare` brings it";
  }
}

}  // namespace hpcbench
