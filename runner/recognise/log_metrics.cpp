#include "recognise/log_metrics.hpp"

#include <algorithm>
#include <map>

#include "base/metric.hpp"
#include "base/text.hpp"
#include "scan/proposal.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMostProposals = 8;

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
}

/// The keys of a proposed metric, without its name and unit.
FlowYaml keys_of(const Metric& metric, const std::string& file) {
  FlowYaml keys = FlowYaml::map({{"file", file}, {metric.source, metric.selector}});
  if (!metric.index.empty()) keys.set("index", metric.index);
  if (metric.series) keys.set("series", *metric.series);
  if (metric.take != "last") keys.set("take", metric.take);
  if (metric.skip > 0) keys.set("skip", std::to_string(metric.skip));
  if (!metric.header.empty()) keys.set("header", metric.header);
  if (metric.header_line > 0) keys.set("header", std::to_string(metric.header_line));
  if (!metric.where.empty()) {
    FlowYaml where = FlowYaml::map();
    for (const auto& [name, values] : metric.where) where.set(name, values.front().text());
    keys.set("where", where);
  }
  return keys;
}

}  // namespace

void add_log_metrics(const ToolFiles& files, const std::vector<std::string>& folders, const std::vector<std::string>& logs,
                     ToolResults& results, const std::string& glob) {
  std::map<std::string, std::vector<std::string>> by_name;
  for (const std::string& log : logs) by_name[base_name(log)].push_back(log);
  for (const auto& [name, same] : by_name) {
    if (same.size() * 2 < folders.size()) continue;  // of a few runs
    const std::string& longest = *std::max_element(
        same.begin(), same.end(), [&](const auto& a, const auto& b) { return files.text(a).size() < files.text(b).size(); });
    const Scan scan = scan_file(files.path(longest), name, kMostProposals);
    for (const Proposal& proposal : scan.proposals) {
      if (proposal.read.count == 0 || proposal.metric.name == "step" || proposal.metric.name == "epoch") continue;
      ToolColumn column{ToolColumn::Role::number, proposal.metric.name, keys_of(proposal.metric, glob.empty() ? name : glob),
                        std::vector<std::string>(folders.size(), ""), proposal.unit()};
      for (std::size_t run = 0; run < folders.size(); ++run) {
        if (longest.starts_with(folders[run])) column.values[run] = "1";
      }
      results.columns.push_back(std::move(column));
    }
    results.left_out.push_back("metrics are proposals for " + longest +
                               ", as `hpcbench scan` makes them: remove what you do not want");
  }
}

}  // namespace hpcbench
