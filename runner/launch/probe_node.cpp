#include "launch/probe_node.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/json_writer.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "base/tool_runner.hpp"
#include "launch/slurm_job.hpp"

namespace hpcbench {

namespace {

constexpr double kAnswerPatienceS = 30;   // file systems over a network show new files late
constexpr double kImportPatienceS = 120;  // of PyTorch from a file system that many read
constexpr long kLookNs = 20'000'000;

std::optional<long long> number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  const long long number = text == nullptr ? 0 : std::atoll(text);
  return number > 0 ? std::optional(number) : std::nullopt;
}

std::optional<int> usable_cores() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return {};
  return CPU_COUNT(&cores);
}

/// Absent without nvidia-smi.
std::optional<int> gpu_count() {
  const std::optional<std::string> lines = list_gpus();
  if (!lines) return {};
  int count = 0;
  for (const std::string& line : split(*lines, '\n')) count += line.starts_with("GPU ") ? 1 : 0;
  return count;
}

/// As a shell would find it: a path as it stands, else on PATH.
bool is_program_here(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  return find_program(program).has_value();
}

/// The interpreter behind a command; absent where nothing says that it is Python's.
std::optional<std::string> python_of(const std::string& program) {
  constexpr std::array kOfPython = {"torchrun", "accelerate", "deepspeed", "lightning", "fabric"};
  const std::string name = std::filesystem::path(program).filename().string();
  if (name.starts_with("python")) return program;
  if (std::find(kOfPython.begin(), kOfPython.end(), name) != kOfPython.end()) return "python3";
  return std::nullopt;
}

/// `2.13.0, CUDA 13.0, NCCL 2.27.3`; absent without Python or PyTorch.
std::optional<std::string> torch_here(const std::vector<std::string>& programs) {
  constexpr const char* kAsk =
      "import torch\n"
      "nccl = torch.distributed.is_available() and torch.distributed.is_nccl_available()\n"
      "nccl = 'NCCL ' + '.'.join(map(str, torch.cuda.nccl.version())) if nccl else 'without NCCL'\n"
      "print(torch.__version__, 'CUDA ' + torch.version.cuda if torch.version.cuda else 'without CUDA', nccl, sep=', ')";
  for (const std::string& program : programs) {
    const std::optional<std::string> python = python_of(program);
    if (!python || !is_program_here(*python)) continue;
    const ToolResult answer = ProcessToolRunner().run({{*python, "-c", kAsk}, "", kImportPatienceS});
    if (answer.succeeded()) return std::string(trim(answer.output));
  }
  return {};
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

int probe_node(const std::string& folder, const std::vector<std::string>& programs) {
  const std::string node = slurm_job_facts().node;
  const std::string place = folder + "/" + node;
  const std::optional<int> gpus = gpu_count();
  std::vector<std::string> missing;
  for (const std::string& program : programs) {
    if (!is_program_here(program)) missing.push_back(program);
  }
  JsonWriter json;
  json.begin_object().member("node", node).member("host", host_name()).member("gpus", gpus);
  json.member("usable_cores", usable_cores()).member("granted_cores", number_of("SLURM_CPUS_ON_NODE"));
  json.member("granted_memory_mb", number_of("SLURM_MEM_PER_NODE")).member("missing", missing);
  if (gpus.value_or(0) > 0) json.member("torch", torch_here(programs));
  write_file(place + ".here", "", Durability::none);
  json.member("answered", await_answer(place + ".seen"));
  // After the answer, and before the login side sees this: that bounds how far clocks differ.
  json.member("unix_s", unix_time_s()).end();
  write_file(place + ".json", json.take() + "\n", Durability::durable);
  return 0;
}

}  // namespace hpcbench
