#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

constexpr std::size_t kMostValues = 8;  // of a fact with a different value in every run

/// Distinct values in the order of their first run.
class DistinctFacts {
 public:
  void add(const std::string& name, const std::string& value) {
    auto& [last, values] = facts_[name];
    if (last != nullptr && *last == value) return;
    last = &value;
    if (values.size() > kMostValues || std::find(values.begin(), values.end(), value) != values.end()) return;
    values.push_back(value);
  }
  void add_all(const AttemptRecord& run) {
    if (previous_ != nullptr && previous_->facts == run.facts) return;
    for (const auto& [name, value] : run.facts) add(name, value);
    previous_ = &run;
  }
  NameMap<std::string> joined() const {
    NameMap<std::string> texts;
    texts.reserve(facts_.size());
    for (const auto& [name, distinct] : facts_) {
      const auto& values = distinct.second;
      const bool more = values.size() > kMostValues;
      const auto end = values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), kMostValues));
      texts.emplace(name, join(std::vector<std::string>(values.begin(), end), "|") + (more ? "|..." : ""));
    }
    return texts;
  }

 private:
  std::map<std::string, std::pair<const std::string*, std::vector<std::string>>> facts_;
  const AttemptRecord* previous_ = nullptr;
};

/// Returns whether a fact identifies what ran: it must be equal to reproduce the same numbers.
bool is_provenance(const std::string& name) {
  constexpr std::array<std::string_view, 19> kNames = {
      "bound", "code",     "commit", "cuda", "cudnn",  "device",          "devices", "dirty",   "driver", "gloo",
      "hosts", "hpcbench", "nccl",   "note", "python", "slurm_partition", "source",  "threads", "torch"};
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  return name.starts_with("code:") || name.starts_with("program:") || name.starts_with("version_") || name == "lightning" ||
         name == "transformers";
}

std::string how_it_is_read(const Metric& metric) {
  if (metric.is_formula()) return "formula " + metric.selector;
  std::string text = fmt::format("{}, {} {}", metric.file, metric.source, metric.selector);
  if (!metric.header.empty()) text += ", header " + metric.header;
  if (metric.header_line > 0) text += fmt::format(", header {}", metric.header_line);
  if (!metric.where.empty()) text += ", where " + describe_where(metric.where);
  if (metric.take != "last") text += ", take " + metric.take;
  if (metric.skip > 0) text += fmt::format(", skip {}", metric.skip);
  return text;
}

/// Adds how results were read: records are always read by today's file.
void add_reading(const Plan& plan, std::map<std::string, std::set<std::string>>& distinct) {
  std::set<const Work*> seen;
  for (const Configuration& configuration : plan.configurations) {
    const Work* work = configuration.work.get();
    if (work == nullptr || !seen.insert(work).second) continue;
    for (const Metric& metric : work->metrics) distinct["metric " + metric.name].insert(how_it_is_read(metric));
    const Success& success = work->success;
    if (success.exit_code != 0) distinct["success"].insert(fmt::format("exit code {}", success.exit_code));
    if (success.pattern) distinct["success"].insert("stdout.log holds " + *success.pattern);
    for (const LocatedExpression& each : success.require) distinct["success"].insert(each.expression().text());
  }
}

bool has_same_provenance(const AttemptRecord& a, const AttemptRecord& b) {
  return a.facts == b.facts && a.node == b.node && a.executor == b.executor && a.rules == b.rules;
}

}  // namespace

void gather_facts(Sample& sample) {
  DistinctFacts facts;
  for (const AttemptRecord* run : sample.measured.empty() ? sample.runs : sample.measured) facts.add_all(*run);
  sample.row.facts = facts.joined();
}

std::vector<ProvenanceRow> gather_provenance(const std::vector<const Sample*>& shown, const Plan& plan) {
  std::map<std::string, std::set<std::string>> distinct;
  const AttemptRecord* previous = nullptr;
  for (const Sample* sample : shown) {
    for (const AttemptRecord* run : sample->runs) {
      if (previous != nullptr && has_same_provenance(*previous, *run)) continue;
      previous = run;
      for (const auto& [name, value] : run->facts) {
        if (is_provenance(name)) distinct[name].insert(value);
      }
      if (const auto seed = run->facts.find("seed"); seed != run->facts.end()) distinct["seed"].insert(seed->second);
      if (run->node && !run->node->empty()) distinct["node"].insert(*run->node);
      if (!run->executor.empty()) distinct["executor"].insert(run->executor);
      if (!run->rules.empty()) distinct["reading_rules"].insert(run->rules);
    }
  }
  add_reading(plan, distinct);
  std::vector<ProvenanceRow> rows;
  for (const auto& [name, values] : distinct) rows.push_back({name, {values.begin(), values.end()}});
  return rows;
}

}  // namespace hpcbench
