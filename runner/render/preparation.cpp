#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/glob.hpp"
#include "base/host.hpp"
#include "render/attempt.hpp"
#include "runfiles/layout.hpp"

namespace hpcbench {

std::string preparation_folder(const std::string& results, const PreparedInstance& instance, int attempt) {
  return results + "/" + to_string(AttemptKey{instance.folder(), {RunKind::preparation, 1}, attempt});
}

Bindings preparation_folders(const Plan& plan, const std::vector<std::size_t>& instances, const RenderContext& context) {
  Bindings folders;
  for (const std::size_t i : instances) {
    const PreparedInstance& instance = plan.prepared[i];
    const auto made = context.prepared.find(instance.folder());
    folders.emplace_back(
        instance.name + ".dir",
        Value::from_text(made != context.prepared.end() ? made->second.folder
                                                        : output_folder(preparation_folder(context.results, instance, 1))));
  }
  return folders;
}

bool has_own_job(const Experiment& experiment, const Plan& plan, std::size_t instance) {
  return executor_kind(experiment.executor).preparation_jobs &&
         experiment.preparations[plan.prepared[instance].definition].on_job;
}

std::vector<CodeFile> input_files(const Preparation& definition, const std::string& folder) {
  std::map<std::string, std::string> files;
  const std::string below = folder + "/";
  for (const std::string& pattern : definition.inputs) {
    const bool absolute = pattern.starts_with('/');
    const std::vector<std::string> found = glob_files(absolute ? pattern : glob_escaped(below) + pattern);
    if (found.empty()) {
      throw UnavailableError(
          fmt::format("error: `prepare.{}.inputs`: no file matches {} (seen from {})", definition.name, pattern, folder));
    }
    for (const std::string& path : found) {
      const std::optional<std::string> sha256 = sha256_of_file(path);
      if (!sha256) throw UnavailableError(fmt::format("error: `prepare.{}.inputs`: cannot read {}", definition.name, path));
      files.emplace(absolute ? path : path.substr(below.size()), *sha256);
    }
  }
  std::vector<CodeFile> list;
  for (const auto& [path, sha256] : files) list.push_back({path, sha256});
  return list;
}

}  // namespace hpcbench
