#include "cli/study_options.hpp"

namespace hpcbench {

void add_results_option(commandline::Command& command, std::string& results) {
  command.add_option("--results", results, "folder of all results").value_name("DIR");
}

namespace {

void add_reading_options(commandline::Command& command, StudyOptions& options) {
  command.add_option("--profile", options.profiles, "overlay of the file's `profiles`; again for one on top of it")
      .value_name("NAME");
  command.add_option("--site", options.site, "what is true of the cluster: a name in sites/ or a path").value_name("SITE");
  command.add_option("--set", options.settings, "set one value, as in `--set parameters.lr=0.1`").value_name("A.B=YAML");
}

void add_rest(commandline::Command& command, StudyOptions& options) {
  command
      .add_option("--only", options.only, "only the configurations that match: `strategy=ddp,nodes=1|2`, or `nodes * tp >= 4`")
      .value_name("AXIS=VALUE,...")
      .not_empty();
  add_results_option(command, options.results);
}

}  // namespace

void add_source_options(commandline::Command& command, StudyOptions& options, FileArgument file) {
  commandline::Option& argument = command.add_option(
      "FILE", options.file,
      file == FileArgument::required ? "the experiment file, or the name of a study that was run here"
                                     : "the experiment file, or the name of a study; without it, what was run last here");
  options.looks_back = file == FileArgument::optional;
  if (file == FileArgument::required) argument.required();
  add_reading_options(command, options);
}

void add_study_options(commandline::Command& command, StudyOptions& options, std::vector<std::string>& files) {
  command.add_option("FILE", files,
                     "the experiment file, or the name of a study; several share the call; without it, what was run last here");
  add_reading_options(command, options);
  add_rest(command, options);
}

void add_study_options(commandline::Command& command, StudyOptions& options, FileArgument file) {
  add_source_options(command, options, file);
  add_rest(command, options);
}

}  // namespace hpcbench
