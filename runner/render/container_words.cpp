#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/container_variables.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "render/resolved_run.hpp"
#include "runfiles/layout.hpp"

namespace hpcbench {

namespace {

// job.sh has entered the working directory by then, and setup may have gone on from there.
constexpr const char* kRunFolder = R"("${HPCBENCH_RUN%/*}:${HPCBENCH_RUN%/*}")";
constexpr const char* kWorkFolder = R"("$PWD:$PWD")";
constexpr const char* kGpus = R"("${gpus[@]}")";
// Files that a user's container writes belong to the user; podman refuses this to root, who needs it not.
constexpr const char* kPodmanUser = R"sh("--userns=$( ((EUID)) && echo keep-id || echo host)")sh";

/// Variables that a process gets from hpcbench, and those that the run says. What else setup exports `args` may name.
std::vector<std::string> container_variables(const ResolvedRun& run) {
  std::vector<std::string> names(kContainerVariables.begin(), kContainerVariables.end());
  for (const auto& [name, value] : run.work().environment) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  for (const auto& [name, value] : added_variables(run)) names.push_back(name);
  return names;
}

void require_mountable(const std::string& folder) {
  if (folder.find_first_of(",:") == std::string::npos) return;
  throw InputError(
      fmt::format("error: `container`: {} cannot be mounted: its name holds `,` or `:`, which separate mounts\n"
                  "  = choose another folder for the results (--results), or call hpcbench in another one",
                  folder));
}

/// {{run_dir}} in a text was filled in; by hand it is another folder.
std::string container_word(const ResolvedRun& run, std::string text) {
  std::string word;
  const std::string folder = output_folder(run.folder);
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
    if (at > 0) word += shell_quote(text.substr(0, at));
    word += "\"$run_dir\"";
    text.erase(0, at + folder.size());
  }
  return word.empty() || !text.empty() ? word + shell_quote(text) : word;
}

ContainerWords apptainer_words(const ResolvedRun& run) {
  ContainerWords words;
  // The outer folder first: with --contain, mounts below /tmp or the home fail in another order.
  words.prefix = {"apptainer", "exec", "--bind", kWorkFolder, "--bind", kRunFolder, "--pwd", R"("$PWD")", kGpus};
  for (const std::string& argument : run.container->args) words.prefix.push_back(container_word(run, argument));
  for (const std::string& mount : run.container->mounts) {
    words.prefix.insert(words.prefix.end(), {"--bind", container_word(run, mount)});
  }
  words.gpu_option = "--nv";
  return words;
}

/// Podman gives a container only the variables that are named. Of those of Slurm and GPUs a pattern is enough.
ContainerWords podman_words(const ResolvedRun& run) {
  ContainerWords words;
  words.prefix = {"podman",     "run",        "--rm",      "--network=host",
                  "--ipc=host", "--pid=host", kPodmanUser, "--security-opt=label=disable",
                  "--volume",   kRunFolder,   "--volume",  kWorkFolder,
                  "--workdir",  R"("$PWD")"};
  for (const std::string& name : container_variables(run)) words.prefix.push_back("--env=" + name);
  for (const char* const prefix : kContainerPrefixes) words.prefix.push_back(fmt::format("'--env={}*'", prefix));
  words.prefix.emplace_back(kGpus);
  for (const std::string& argument : run.container->args) words.prefix.push_back(container_word(run, argument));
  for (const std::string& mount : run.container->mounts) {
    words.prefix.insert(words.prefix.end(), {"--volume", container_word(run, mount)});
  }
  words.gpu_option = "--device=nvidia.com/gpu=all";
  return words;
}

/// pyxis puts the whole task into the container, so hpcbench must be in it, too: one file, which needs a libc if it was built
/// from source, and else nothing.
ContainerWords pyxis_words(const ResolvedRun& run) {
  require_mountable(run.context.hpcbench);
  const std::string own = shell_quote(run.context.hpcbench + ":" + run.context.hpcbench + ":ro");
  std::string mounts = R"(--container-mounts="${HPCBENCH_RUN%/*}:${HPCBENCH_RUN%/*},$PWD:$PWD",)" + own;
  // Ranks of runs side by side write there what they are bound to.
  if (run.experiment.packs_runs()) mounts += R"("${HPCBENCH_BINDINGS:+,${HPCBENCH_BINDINGS%/*}:${HPCBENCH_BINDINGS%/*}}")";
  for (const std::string& mount : run.container->mounts) {
    const bool both = mount.find(':') != std::string::npos;
    mounts += "," + container_word(run, both ? mount : mount + ":" + mount);
  }
  ContainerWords words;
  words.srun_options = {"--container-image=" + container_word(run, run.container->image), mounts,
                        R"(--container-workdir="$PWD")", "--container-env=" + shell_quote(join(container_variables(run), ","))};
  for (const std::string& argument : run.container->args) words.srun_options.push_back(container_word(run, argument));
  return words;
}

}  // namespace

ContainerWords container_words(const ResolvedRun& run) {
  if (!run.container) return {};
  require_mountable(run.folder);
  require_mountable(run.workdir);
  if (run.container->runtime == ContainerRuntime::pyxis) return pyxis_words(run);
  ContainerWords words = run.container->runtime == ContainerRuntime::podman ? podman_words(run) : apptainer_words(run);
  words.prefix.push_back(container_word(run, run.container->image));
  return words;
}

}  // namespace hpcbench
