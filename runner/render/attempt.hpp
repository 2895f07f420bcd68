#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/run_name.hpp"
#include "plan/placeholders.hpp"  // fill_placeholders, placeholders_in
#include "plan/plan.hpp"
#include "render/block_times.hpp"
#include "render/input_decks.hpp"
#include "runfiles/run_info.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// A file that a command names, as it was when the attempt was made.
struct CodeFile {
  std::string path;
  std::string sha256;
};
void write_json(JsonWriter& json, const CodeFile& file);

/// Where the code of a run comes from; recorded, never part of an identity.
struct Provenance {
  std::string hpcbench_version;
  std::optional<std::string> commit;  // of the working directory's repository
  std::optional<bool> dirty;
};

/// An instance of a preparation that was made.
struct MadePreparation {
  std::string folder;            // absolute: the program's folder of the attempt that succeeded
  std::vector<CodeFile> inputs;  // as they were when it was made
};

/// What is the same for all attempts that one call makes.
struct RenderContext {
  std::string results;       // absolute: .../results/EXPERIMENT
  std::string call_folder;   // absolute: where `hpcbench run` was called
  std::string trainer;       // absolute path of hpcbench-train
  std::string hpcbench;      // absolute path of this program, on the nodes, too
  std::string executor;      // local or slurm
  std::string job_template;  // text of templates/job.sh.mustache
  Provenance provenance;
  std::string job_template_name = "job.sh.mustache";     // for messages
  std::optional<double> intended_unix_s;                 // absent: now
  std::map<std::string, MadePreparation> prepared = {};  // by PreparedInstance::folder; where one is missing, its first attempt
  std::string array_template;  // text of templates/slurm_array.sh.mustache; empty: the executor has no batches
  BlockTimes block_times = {};
  std::optional<std::string> omp_num_threads = {};  // of the process that calls
  std::string hashes_sha256 = {};  // of the batch's list of hashes, for its script; empty: the script is only looked at
};

/// An attempt ready to be written to its folder.
struct RenderedAttempt {
  AttemptKey key;
  std::string folder;    // absolute
  std::string run_json;  // everything resolved; docs/run-directory.md has the fields
  std::string job_sh;    // runnable by hand
  std::vector<FilledDeck> decks;
};

/// Fills a configuration's placeholders and renders both files. `batch` is the id of its batch.
/// InputError if a placeholder or a name in the template is not defined, or a value holds a NUL byte.
RenderedAttempt render_attempt(const Experiment& experiment, const Plan& plan, std::size_t configuration, RunName run,
                               int attempt, const std::string& batch, const RenderContext& context,
                               const Segment& segment = {});

/// The folder of an attempt of an instance, below `results`.
std::string preparation_folder(const std::string& results, const PreparedInstance& instance, int attempt);
/// The program's folders, `build.dir` and its like, for what a configuration, or another instance, is given.
Bindings preparation_folders(const Plan& plan, const std::vector<std::size_t>& instances, const RenderContext& context);
/// Whether an instance is made by a job of its own: on Slurm, where its definition says so.
bool has_own_job(const Experiment& experiment, const Plan& plan, std::size_t instance);
/// The files that the patterns of `inputs` match, with their hashes; paths as the patterns have them, relative to `folder`.
/// UnavailableError for a pattern that matches none, or a file that cannot be read.
std::vector<CodeFile> input_files(const Preparation& definition, const std::string& folder);
/// The metrics of an experiment file as run.json has them.
void write_metrics(JsonWriter& json, const std::vector<Metric>& metrics);
/// `success` of an experiment file as run.json has it.
void write_json(JsonWriter& json, const Success& success);
/// The names that formulas and `success.require` use beside metrics and axes, as JSON; empty if there are none.
std::string formulas_json(const Work& work, const std::vector<Derived>& derive);

/// run.json of a run that hpcbench did not start: what it is and how it is read, nothing of how it would be started.
std::string imported_run_json(const Experiment& experiment, const Plan& plan, const Configuration& configuration,
                              const AttemptKey& key, const std::string& executor, const std::vector<Metric>& metrics);

/// The #SBATCH options that follow from a configuration's resources and the site: configurations with equal ones may share an
/// array. InputError for a value that cannot stand in such a line.
std::vector<std::string> slurm_options(const Experiment& experiment, const Configuration& configuration);

/// The same of a block of such configurations, which takes so long, `lanes` of them at a time; without a time, what such
/// configurations have in common.
std::vector<std::string> slurm_block_options(const Experiment& experiment, const Configuration& configuration,
                                             std::optional<double> time_s = std::nullopt, int lanes = 1);

/// Tasks of a node, and cores of a task, that Slurm is asked for.
struct SlurmShape {
  int tasks_per_node = 1;
  int cpus_per_task = 1;
};
SlurmShape slurm_shape(const Configuration& configuration);

/// `EXPERIMENT.BATCH`: by this name, and the index in the array, a job is known for good; ids are used again.
std::string slurm_job_name(const std::string& experiment, const std::string& batch);
/// The script of a batch, relative to results/EXPERIMENT.
std::string batch_script_path(const std::string& batch);
/// What the configurations of one batch have in common, as the executor is asked for it once: slurm_options. Empty where the
/// executor starts each attempt by itself.
std::vector<std::string> batch_options(const Experiment& experiment, const Configuration& configuration,
                                       const RenderContext& context);
/// The script of a batch of `count` attempts, or blocks, with these options.
std::string render_array_script(const Experiment& experiment, const std::vector<std::string>& options, const std::string& batch,
                                int count, const RenderContext& context, bool blocks = false);

/// Finds templates/NAME: ./templates, then ../templates of the program's folder (build tree), then ../share/hpcbench/templates
/// (installed). A name with a `/` is the path itself. UnavailableError, naming the places, if nowhere.
std::string load_template(const std::string& name);

/// The program of a command, found on PATH.
struct ProgramFile {
  std::string name;  // as the command names it: `python3`
  std::string path;  // absolute
  std::string sha256;
};

/// Hash (SHA-256) of a regular file; above 10 MB of its size and of 160 blocks of 64 KiB spread over it. nullopt if it is
/// missing or unreadable. A file is read again only if its size, time stamps or inode changed.
std::optional<std::string> code_hash(const std::string& path);

/// The program that the first of `words` names without a `/`, in the first folder of `path_variable` that has it. Relative
/// folders start at `folder`. nullopt if no folder has it, or code_hash knows nothing of it.
std::optional<ProgramFile> program_on_path(const std::vector<std::string>& words, const std::string& path_variable,
                                           const std::string& folder);

/// Where processes start, absolute; placeholders filled in. `attempt_folder`: for `workdir: attempt`.
std::string absolute_workdir(const Experiment& experiment, const Bindings& bindings, const std::string& call_folder,
                             const std::string& attempt_folder);

/// Hashes (SHA-256) of the files that a command's arguments name (`train.py`, `--config=x.yaml`), relative to `folder`; each
/// once, in order. Left out: a program that is looked up on PATH, files that options such as `-o` and `--output` name, what is
/// no regular file, files over 10 MB.
std::vector<CodeFile> code_files(const std::vector<std::string>& command, const std::string& folder);

/// Reads the repository's state with git (absent where there is none). Dirty: a tracked file differs from the commit; new
/// files do not count, as results make new files. Never fails.
Provenance find_provenance(const std::string& folder);

}  // namespace hpcbench
