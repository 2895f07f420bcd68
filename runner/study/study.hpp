#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "spec/read_experiment.hpp"
#include "study/last_run.hpp"

namespace hpcbench {

/// Arguments of commands on a study.
struct StudyOptions {
  std::string file;
  std::vector<std::string> profiles;  // each laid over those before it
  std::string site;
  std::vector<std::string> settings;
  std::string results = "results";
  std::string only;
  int repeats = 0;  // 0: as the file says
  /// For commands that look at results: a file is read with the site of its last run, unless one is named; and without
  /// --results, a file elsewhere whose study has no results here is looked up in `results` beside it.
  bool looks_back = false;
  bool is_unpacked = false;  // results are an archive's, in a folder that ends with the call: its paths mean nothing
};

/// A study at hand: what is asked for, and where its results are.
struct Study {
  Experiment experiment;
  Plan plan;                                 // all of it
  std::optional<Plan> narrowed;              // what --only leaves of it, where it was given
  std::string results_root;                  // absolute
  std::string results;                       // absolute: results_root/EXPERIMENT
  LastRun source;                            // the file and the options that it was read with
  std::vector<std::string> broken_imports;   // errors of `import`, already printed: exit code 2
  std::vector<std::string> missing_imports;  // files of `import` that do not exist: runs imported from them earlier count
  bool from_last_run = false;                // or named as a study of the results folder
  bool is_unpacked = false;                  // as in StudyOptions
  bool one_of_many = false;                  // of this call: what is advised names it
  std::string in_results;                    // ` --results DIR` as it was given, for commands that are advised
  std::string narrowing;                     // ` --only COND --repeats N` likewise, for those that continue this call

  /// What is asked for: all of the plan, or what --only leaves.
  const Plan& selected() const { return narrowed ? *narrowed : plan; }
  Plan& selected() { return narrowed ? *narrowed : plan; }
  /// `hpcbench retry`, with the study's name where the call has several, and its results folder where one was named.
  std::string command(const std::string& name) const {
    return "hpcbench " + name + (one_of_many ? " " + experiment.name : "") + in_results;
  }
  /// The study as another command takes it: its file with all that it was read with, or its name where the results folder
  /// knows that; and the folder where one was named.
  std::string named() const;
  std::string database() const { return results_root + "/hpcbench.db"; }
};

/// InputError for what only the whole plan shows: a baseline that is none or several, a report that names unknown axes, an
/// executor that is not there. What `check` says before `run` finds out the hard way.
void check_study(const Study& study);

/// The default results folder for commands called in the folder of this file.
std::string results_beside(const std::string& file);
/// The same folder, and as advice `\n  = ../results holds NAME: add --results ../results`: another folder near the working
/// directory, or beside `file`, that has results of this study (empty: of any). Empty where there is none.
std::string results_near(const std::string& results_root, const std::string& experiment, const std::string& file);
std::string where_results_are(const std::string& results_root, const std::string& experiment, const std::string& file);
/// UnavailableError for a study that has no results: where some may be, or what makes them.
[[noreturn]] void refuse_without_results(const Study& study);
/// The same as a note on stderr, for commands that have something to show without results; nothing where there are some. Of a
/// study that waits for its turn in a call, that.
void note_without_results(const Study& study);
/// UnavailableError unless the study is this user's to execute, change and end: its results belong to this user, and the file
/// that says how it was read is from this user alone. Takes the right to write in its results from others.
void require_own(const Study& study);
/// The same of results alone.
void require_own_results(const std::string& results);
/// The name of the user to whom the results of an experiment belong, if that is another one; else empty.
std::string other_owner(const std::string& results);

/// Reads FILE, which may be the name of a study in the results folder; without one, what was run last there (said on stderr).
Study load_study(const StudyOptions& options);

}  // namespace hpcbench
