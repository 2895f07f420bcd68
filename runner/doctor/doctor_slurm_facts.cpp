#include "doctor/doctor_slurm_facts.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

#include "base/text.hpp"

namespace hpcbench {

namespace {

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

struct GpuResource {
  std::string type;
  int count = 0;
};

/// The entries of a gres list that are GPUs: `gpu:2`, `gpu:a100:2(S:0-1)`.
std::vector<GpuResource> gpu_resources(std::string_view gres) {
  std::vector<GpuResource> found;
  std::string without_sockets;
  int depth = 0;
  for (const char c : gres) {
    if (c == '(') ++depth;
    if (depth == 0) without_sockets += c;
    if (c == ')' && depth > 0) --depth;
  }
  for (const std::string& entry : split(without_sockets, ',')) {
    const std::vector<std::string> parts = split(entry, ':');
    if (parts.front() != "gpu" || parts.size() < 2 || parts.size() > 3) continue;
    found.push_back({parts.size() == 3 ? parts[1] : "", whole_number(parts.back()).value_or(0)});
  }
  return found;
}

void assign_partition_field(SlurmPartition& partition, const std::string& name, const std::string& value) {
  if (name == "PartitionName") partition.name = value;
  if (name == "Default") partition.is_default = value == "YES";
  if (name == "State") partition.state = value;
  if (name == "MaxTime") partition.max_time_s = parse_duration(value);
  if (name == "MaxNodes") partition.max_nodes = whole_number(value);
  if (name == "TotalNodes") partition.nodes = whole_number(value).value_or(0);
  if (name == "DefaultTime") partition.default_time = value;
}

}  // namespace

std::vector<SlurmPartition> parse_partitions(std::string_view output) {
  std::vector<SlurmPartition> partitions;
  for (const std::string& line : split(output, '\n')) {
    SlurmPartition partition;
    for (const std::string& word : split(line, ' ')) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) assign_partition_field(partition, word.substr(0, equals), word.substr(equals + 1));
    }
    if (!partition.name.empty()) partitions.push_back(partition);
  }
  return partitions;
}

int count_gpus(std::string_view gres, std::string_view type) {
  std::int64_t count = 0;
  for (const GpuResource& resource : gpu_resources(gres)) {
    if (type.empty() || resource.type == type) count += resource.count;
  }
  return static_cast<int>(std::min<std::int64_t>(count, std::numeric_limits<int>::max()));
}

std::vector<SlurmNode> parse_nodes(std::string_view output, std::string_view gpu_type) {
  std::vector<SlurmNode> nodes;
  for (const std::string& line : split(output, '\n')) {
    const std::vector<std::string> fields = split(line, '|');
    if (fields.size() != 4) continue;
    SlurmNode node{fields[0], fields[1], whole_number(fields[2]).value_or(0), count_gpus(fields[3], gpu_type), {}, true};
    for (const GpuResource& resource : gpu_resources(fields[3])) {
      if (!resource.type.empty()) node.types.push_back(resource.type);
    }
    for (const char* bad : {"down", "drain", "fail", "inval", "future", "maint", "unknown", "power"}) {
      if (node.state.find(bad) != std::string::npos) node.takes_jobs = false;
    }
    // A node that is powered down to save energy is powered up for a job; `*` marks one that does not answer.
    if (node.state.find("powered_down") != std::string::npos || node.state.find('~') != std::string::npos)
      node.takes_jobs = true;
    if (node.state.ends_with('*')) node.takes_jobs = false;
    nodes.push_back(node);
  }
  return nodes;
}

}  // namespace hpcbench
