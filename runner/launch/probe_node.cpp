#include "launch/probe_node.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "launch/slurm_job.hpp"

namespace hpcbench {

namespace {

constexpr double kAnswerPatienceS = 30;  // file systems over a network show new files late
constexpr long kLookNs = 20'000'000;

nlohmann::json number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  const long long number = text == nullptr ? 0 : std::atoll(text);
  return number > 0 ? nlohmann::json(number) : nlohmann::json();
}

nlohmann::json usable_cores() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return {};
  return CPU_COUNT(&cores);
}

/// Null where there is no nvidia-smi.
nlohmann::json gpu_count() {
  const std::optional<std::string> lines = list_gpus();
  if (!lines) return {};
  int count = 0;
  for (const std::string& line : split(*lines, '\n')) count += line.starts_with("GPU ") ? 1 : 0;
  return count;
}

bool await_answer(const std::string& path) {
  const double end_s = monotonic_s() + kAnswerPatienceS;
  while (!std::filesystem::exists(path)) {
    if (monotonic_s() > end_s) return false;
    const timespec pause{0, kLookNs};
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

}  // namespace

int probe_node(const std::string& folder) {
  const std::string node = slurm_job_facts().node;
  const std::string place = folder + "/" + node;
  nlohmann::json facts = {{"node", node},
                          {"host", host_name()},
                          {"gpus", gpu_count()},
                          {"usable_cores", usable_cores()},
                          {"granted_cores", number_of("SLURM_CPUS_ON_NODE")},
                          {"granted_memory_mb", number_of("SLURM_MEM_PER_NODE")}};
  write_file(place + ".here", "", Durability::none);
  const bool answered = await_answer(place + ".seen");
  facts["answered"] = answered;
  facts["unix_s"] = unix_time_s();  // after the answer, and before the login side sees this: that bounds how far clocks differ
  write_file(place + ".json", facts.dump() + "\n", Durability::durable);
  return 0;
}

}  // namespace hpcbench
