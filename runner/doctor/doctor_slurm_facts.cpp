#include "doctor/doctor_slurm_facts.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/text.hpp"

namespace hpcbench {

namespace {

struct GpuResource {
  std::string type;
  int count = 0;
};

/// Returns the entries of a gres list that are GPUs: `gpu:2`, `gpu:a100:2(S:0-1)`.
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

}  // namespace

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
