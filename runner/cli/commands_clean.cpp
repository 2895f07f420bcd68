#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/study_options.hpp"
#include "study/index.hpp"
#include "study/leftovers.hpp"
#include "study/study.hpp"
#include "submit/experiment_lock.hpp"

namespace hpcbench {

namespace {

struct CleanOptions {
  StudyOptions study;
  std::string remove;  // empty: only list
  bool yes = false;
};

std::string size_text(double bytes) {
  if (bytes < 1e6) return fmt::format("{:.1f} kB", bytes / 1e3);
  return bytes < 1e9 ? fmt::format("{:.1f} MB", bytes / 1e6) : fmt::format("{:.1f} GB", bytes / 1e9);
}

/// As `--remove` and the list call them.
std::string name_of(Leftover::Kind kind) {
  switch (kind) {
    case Leftover::Kind::orphan:
      return "orphan";
    case Leftover::Kind::preparation:
      return "prepare";
    case Leftover::Kind::void_attempt:
      break;
  }
  return "void";
}

std::string count_and_size(const std::vector<Leftover>& leftovers) {
  double bytes = 0;
  for (const Leftover& leftover : leftovers) bytes += leftover.bytes;
  return fmt::format("{}, {}", counted(static_cast<long long>(leftovers.size()), "folder", "folders"), size_text(bytes));
}

void list(const std::vector<Leftover>& leftovers) {
  std::string text;
  for (const Leftover& leftover : leftovers) {
    text +=
        fmt::format("{:<8}{:>10}  {}  {}\n", name_of(leftover.kind), size_text(leftover.bytes), leftover.path, leftover.what);
  }
  print_data(text);
}

int clean(const CleanOptions& options) {
  const Study study = load_study(options.study);
  if (!std::filesystem::exists(study.results)) refuse_without_results(study);
  require_own(study);
  Store store = open_index(study.results_root);
  // Whoever runs the study may be about to make attempts, or to take some over.
  std::optional<ExperimentLock> lock;
  if (!options.remove.empty()) {
    std::string owner;
    lock = ExperimentLock::try_acquire(study.results, &owner);
    if (!lock)
      throw UnavailableError(fmt::format("error: {} is run by {}; remove nothing meanwhile", study.experiment.name, owner));
  }
  refresh_index(store, study.results_root, study.experiment.name);
  std::vector<Leftover> found = find_leftovers(study, store);
  list(found);
  if (options.remove.empty()) {
    say(found.empty()
            ? "nothing to clean: all that is there counts, or may yet"
            : fmt::format("{} in {}; nothing was removed. `hpcbench clean {} --remove void|orphans|prepare|all` removes them. "
                          "What counts is never among them.",
                          count_and_size(found), study.results, printable(study.named())));
    return 0;
  }
  std::erase_if(found, [&](const Leftover& leftover) {
    const std::string kind = leftover.kind == Leftover::Kind::orphan ? "orphans" : name_of(leftover.kind);
    return options.remove != "all" && options.remove != kind;
  });
  if (found.empty()) {
    say("nothing of that kind is there");
    return 0;
  }
  if (!confirm(fmt::format("Remove {} for good?", count_and_size(found)), options.yes)) return 0;
  remove_leftovers(study, found);
  refresh_index(store, study.results_root, study.experiment.name);
  say(fmt::format("removed {}", count_and_size(found)));
  return 0;
}

}  // namespace

void add_clean(commandline::Command& command) {
  const auto options = std::make_shared<CleanOptions>();
  command.add_option("FILE", options->study.file,
                     "the experiment file, or the name of a study; without it, what was run last here");
  options->study.looks_back = true;
  command.add_option("--site", options->study.site, "what is true of the cluster: a name in sites/ or a path")
      .value_name("SITE");
  command.add_option("--set", options->study.settings, "as the study was run, as in `--set parameters.lr=0.1`")
      .value_name("A.B=YAML");
  add_results_option(command, options->study.results);
  command.add_option("--remove", options->remove, "remove what is listed: void, orphans, prepare or all")
      .one_of({"void", "orphans", "prepare", "all"});
  command.add_flag("--yes", options->yes, "do not ask");
  command.action([=] { return clean(*options); });
}

}  // namespace hpcbench
