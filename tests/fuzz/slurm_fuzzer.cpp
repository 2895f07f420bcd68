// libFuzzer entry: any output of Slurm's tools is read to values, and never to more than it contains. The first byte selects
// the tool, the second how it ended, the rest is its output, a NUL, and its error output. No exception is expected at all:
// every one, and every crash, leak or undefined behaviour, is a finding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "doctor/doctor_slurm_facts.hpp"
#include "executors/slurm/slurm_limits.hpp"
#include "executors/slurm/slurm_parse.hpp"

namespace {

using namespace hpcbench;

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// An id is that of a job or of one element of its array, and a job that is listed has a state.
void check_jobs(const std::vector<SlurmJob>& jobs) {
  for (const SlurmJob& job : jobs) {
    require(is_number(job.array) && job.index >= -1);
    require(job.id == (job.index < 0 ? job.array : job.array + "_" + std::to_string(job.index)));
    phase_of(job.state);
    explain_reason(job.reason);
    is_early_record(job);
  }
}

void check_sbatch(const ToolResult& result) {
  const SbatchAnswer answer = parse_sbatch(result);
  require((answer.kind == SbatchAnswer::Kind::accepted) == is_number(answer.job));
  // Only a tool that ended well has certainly submitted; only one that ended badly, or never began, has certainly refused.
  if (answer.kind == SbatchAnswer::Kind::accepted) require(result.succeeded());
  if (answer.kind == SbatchAnswer::Kind::refused || answer.kind == SbatchAnswer::Kind::limited ||
      answer.kind == SbatchAnswer::Kind::full || answer.kind == SbatchAnswer::Kind::busy) {
    require(result.kind == ToolResult::Kind::not_started || (result.kind == ToolResult::Kind::exited && result.status != 0));
  }
  require(answer.text.find('\n') == std::string::npos);
}

void check_config(std::string_view output) {
  if (const std::optional<int> size = parse_max_array_size(output)) require(*size >= 0);
  require(parse_controller_start(output).value_or(0) >= 0 && parse_job_times(output).submitted.value_or(0) >= 0);
  for (const SlurmPartition& partition : parse_partitions(output)) {
    require(!partition.name.empty() && partition.nodes >= 0 && partition.max_nodes.value_or(0) >= 0);
  }
  for (const SlurmNode& node : parse_nodes(output, "a100")) {
    require(node.cpus >= 0 && node.gpus >= 0);
  }
  require(count_gpus(output, "a100") <= count_gpus(output, ""));
}

ToolResult how_it_ended(std::uint8_t code, std::string_view text) {
  ToolResult result;
  constexpr std::uint8_t kKinds = 6;
  result.kind = static_cast<ToolResult::Kind>(code % kKinds);
  result.status = code / kKinds % 3;  // 0, 1, 2
  const std::size_t cut = text.find('\0');
  result.output = std::string(text.substr(0, cut));
  if (cut != std::string_view::npos) result.errors = std::string(text.substr(cut + 1));
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const ToolResult result = how_it_ended(data[1], text);
  switch (data[0]) {
    case 'q':
      check_jobs(parse_squeue(text));
      break;
    case 'a':
      check_jobs(parse_sacct(text));
      has_accounting(result);
      break;
    case 'b':
      check_sbatch(result);
      break;
    case 'c':
      check_config(text);
      break;
    default:
      require(describe(result).find('\n') == std::string::npos);
      break;
  }
  return 0;
}
