#include <fmt/format.h>

#include <string>

#include "report/warnings/warnings.hpp"

namespace hpcbench {
namespace {

/// Reports `code` for the rows with a run that has this fact.
void warn_of_fact(const WarningContext& context, const char* fact, const std::string& before, const std::string& after,
                  Sightings& rows) {
  for (const Sample* sample : context.shown) {
    if (lacks_fact(*sample, fact)) continue;
    const std::string* value = nullptr;
    for (const AttemptRecord* run : sample->runs) {
      if (const auto found = run->facts.find(fact); found != run->facts.end()) value = &found->second;
    }
    if (value != nullptr)
      rows.add(sample->row, [&] { return row_label(context.columns, sample->row) + before + *value + after; });
  }
}

}  // namespace

void warn_simulated_nodes(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  warn_of_fact(context, "simulated_nodes", ": ", " simulated nodes, one machine", rows);
  rows.report(
      kSimulatedNodes,
      "simulated nodes are processes of one machine: they share its cores, memory and devices, and no network lies between "
      "them, so these times prove nothing about nodes",
      {"run the rows of several nodes on a cluster (--site), or report them as simulated", "report them as simulated"}, found);
}

void warn_cores_shared(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  warn_of_fact(context, "cores_shared", ": ", "", rows);
  rows.report("cores-shared", "ranks that share cores slow each other down: their times prove little about scaling",
              {"request at most as many ranks times cpus_per_task as the machine has cores",
               "state beside the times how many ranks shared how many cores"},
              found);
}

void warn_side_by_side_shared(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  warn_of_fact(context, "side_by_side_shared", ": ", "", rows);
  rows.report(
      "side-by-side-shared",
      fmt::format("runs side by side were to have cores{} and NUMA nodes of their own: where they shared them, times are those "
                  "of runs that took turns",
                  context.experiment.has_gpus ? ", GPUs" : ""),
      {"fix that, or remove `side_by_side`, and measure into another --results folder",
       "state beside the times what their runs shared"},
      found);
}

void warn_suspended(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  warn_of_fact(context, "suspended", ": for ", "", rows);
  rows.report("suspended", "Slurm had suspended these jobs: times by the clock include that they stood still",
              {"measure these runs again where jobs are not suspended, into another --results folder",
               "state beside the times which runs were suspended, and for how long"},
              found);
}

}  // namespace hpcbench
