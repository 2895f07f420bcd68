// libFuzzer entry: any bytes as a log, a table or JSON (the first byte says which) through `hpcbench scan`. The reader of each
// proposal, written as YAML and read again, must give what the proposal shows. Every exception, crash, leak or undefined
// behaviour is a finding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "scan/proposal.hpp"
#include "scan/study_text.hpp"
#include "spec/read_experiment.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hpcbench;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string name = data[0] == 'c' ? "a.csv" : data[0] == 'j' ? "a.json" : "a.log";
  const Scan scan = scan_text(text, name, 10);
  require(scan.proposals.size() <= 10);
  if (scan.proposals.empty()) return 0;
  for (const Proposal& proposal : scan.proposals) require(proposal.read.count > 0 && proposal.read.not_numbers == 0);
  const Experiment experiment = parse_experiment(study_of_logs("s", {{name, name}}, scan.proposals), "s.yaml", {});
  require(experiment.work.metrics.size() == scan.proposals.size());
  for (std::size_t i = 0; i < scan.proposals.size(); ++i) {
    const MetricMatches again = read_metric_text(experiment.work.metrics[i], text, name);
    const MetricMatches& shown = scan.proposals[i].read;
    require(again.count == shown.count && again.first == shown.first && again.last == shown.last && again.value == shown.value);
  }
  return 0;
}
