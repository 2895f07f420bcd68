#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hpcbench {

struct JubeRequest {
  std::string path;                 // of the JUBE file, for messages
  std::string text;                 // of that file
  std::string name;                 // of the study
  std::string output;               // of the experiment file; input decks are written beside it
  std::set<std::string> tags;       // of JUBE, applied permanently; every other tag becomes a profile
  std::optional<std::string> step;  // the step whose runs are measured; nullopt: the last of the chain
  std::string first_line = {};      // of the experiment file, for editors; may be empty
  std::string home = {};  // absolute folder of the JUBE file, `$jube_benchmark_home`; empty: left for the user to fill in
  std::vector<std::string> include_path = {};  // folders that `JUBE_INCLUDE_PATH` names
};

/// Reads another file by its name, relative to the JUBE file unless absolute; nullopt if it does not exist.
using JubeFiles = std::function<std::optional<std::string>(const std::string& name)>;

struct JubeTranslation {
  std::string text;                                        // the experiment file
  std::vector<std::string> notes;                          // `file:line:column: note: ...`: parts that it does not express
  std::vector<std::pair<std::string, std::string>> decks;  // path, text: files to write beside it
  std::size_t to_fill_in = 0;                              // of the notes: those without which the runs differ from JUBE's
  std::optional<std::string> problem;                      // the error of `hpcbench check`; nullopt: it passes
};

/// Translates a JUBE file (XML or YAML) into an experiment file. Total: returns a translation, or InputError with its place.
JubeTranslation translate_jube(const JubeRequest& request, const JubeFiles& files);

}  // namespace hpcbench
