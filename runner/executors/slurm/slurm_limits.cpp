#include "executors/slurm/slurm_limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace hpcbench {

namespace {

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

std::optional<LongestJob> longest_job(const std::vector<SlurmPartition>& known, const std::optional<std::string>& said) {
  std::vector<std::string> names;
  if (said) names = split(*said, ',');
  for (const SlurmPartition& partition : known) {
    if (!said && partition.is_default) names.push_back(partition.name);
  }
  std::optional<LongestJob> longest;
  for (const std::string& name : names) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const SlurmPartition& each) { return each.name == name; });
    if (found == known.end() || !found->max_time_s) return std::nullopt;
    if (longest && longest->seconds >= *found->max_time_s) continue;
    longest = LongestJob{*found->max_time_s, fmt::format("MaxTime of partition `{}`", name)};
  }
  return longest;
}

std::optional<double> parse_max_wall(std::string_view output, std::string_view qos) {
  for (const std::string& line : split(output, '\n')) {
    const std::vector<std::string> fields = split(line, '|');
    if (fields.size() == 2 && fields[0] == qos) return parse_duration(fields[1]);
  }
  return std::nullopt;
}

}  // namespace hpcbench
