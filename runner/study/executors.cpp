#include "study/executors.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/host.hpp"
#include "executors/commands/commands_executor.hpp"
#include "executors/local/local_executor.hpp"
#include "executors/slurm/slurm_executor.hpp"

namespace hpcbench {

namespace {

std::unique_ptr<Executor> make_local_executor(int slots) {
  return std::make_unique<LocalExecutor>(slots, program_folder() + "/hpcbench");
}

/// Of several limits on jobs in the queue the least holds for all.
std::unique_ptr<Executor> make_slurm_executor(const std::vector<const Study*>& studies,
                                              std::function<void(const std::string&)> note) {
  static ProcessToolRunner tools;
  SlurmSettings settings;
  for (const Study* const study : studies) {
    const Site& site = study->experiment.site;
    settings.studies.push_back({study->experiment.name, study->results, site.max_running});
    if (site.max_queued) settings.max_queued = std::min(settings.max_queued.value_or(*site.max_queued), *site.max_queued);
  }
  settings.tool_timeout_s = slurm_tool_timeout_s();
  return std::make_unique<SlurmExecutor>(settings, tools, system_clock(), std::move(note));
}

std::unique_ptr<Executor> make_commands_executor(const std::vector<const Study*>& studies,
                                                 std::function<void(const std::string&)> note) {
  static ProcessToolRunner tools;
  CommandsSettings settings;
  for (const Study* const study : studies) {
    const Site& site = study->experiment.site;
    settings.studies.push_back({study->experiment.name, study->results});
    if (site.max_queued) settings.max_queued = std::min(settings.max_queued, *site.max_queued);
  }
  settings.system = studies.front()->experiment.site.commands.value_or(BatchSystem());
  return std::make_unique<CommandsExecutor>(settings, tools, system_clock(), std::move(note));
}

/// An executor whose jobs wait in a queue.
struct QueueRow {
  std::string_view name;
  /// For all studies of a call.
  std::unique_ptr<Executor> (*make)(const std::vector<const Study*>& studies, std::function<void(const std::string&)> note);
};

/// The row of the study's executor; null if its jobs run here.
const QueueRow* queue_row(const Study& study) {
  static const std::vector<QueueRow> kRows = {{"slurm", make_slurm_executor}, {"commands", make_commands_executor}};
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [&](const QueueRow& each) { return each.name == study.experiment.executor; });
  return row == kRows.end() ? nullptr : &*row;
}

}  // namespace

double slurm_tool_timeout_s() {
  const char* const said = std::getenv("HPCBENCH_SLURM_TIMEOUT");
  const double seconds = said == nullptr ? 0 : std::atof(said);
  return seconds > 0 ? seconds : SlurmSettings().tool_timeout_s;
}

std::unique_ptr<Executor> choose_executor(const Study& study, int slots, std::function<void(const std::string&)> note) {
  const QueueRow* const row = queue_row(study);
  return row != nullptr ? row->make({&study}, std::move(note)) : make_local_executor(slots);
}

Executors::Executors(const std::vector<Study>& studies, int slots, std::function<void(const std::string&)> note)
    : studies_(&studies), slots_(slots), note_(std::move(note)) {}

Executor& Executors::here() {
  if (one_ != nullptr) return *one_;
  if (!here_) here_ = make_local_executor(slots_);
  return *here_;
}

Executor& Executors::workshop() {
  if (one_ != nullptr) return *one_;
  if (!workshop_) workshop_ = make_local_executor(1);
  return *workshop_;
}

Executor& Executors::of(const Study& study) {
  const QueueRow* const row = queue_row(study);
  if (one_ != nullptr || row == nullptr) return here();
  std::unique_ptr<Executor>& queue = queues_[study.experiment.executor];
  if (!queue) {
    std::vector<const Study*> in_queue;
    for (const Study& each : *studies_) {
      if (each.experiment.executor == study.experiment.executor) in_queue.push_back(&each);
    }
    queue = row->make(in_queue, note_);
  }
  return *queue;
}

int Executors::free_here() {
  if (one_ != nullptr) return one_->free_slots();
  return here_ ? here_->free_slots() : 0;
}

void Executors::wait(double seconds) {
  if (one_ != nullptr) return one_->wait(seconds);
  bool waited = false;  // by one of them: the others only look
  const auto wait_for = [&](Executor& executor) {
    executor.wait(waited ? 0 : seconds);
    waited = true;
  };
  if (here_ && here_->free_slots() < slots_) wait_for(*here_);
  if (workshop_ && workshop_->free_slots() == 0) wait_for(*workshop_);
  for (const auto& [name, queue] : queues_) wait_for(*queue);
  if (!waited && here_) wait_for(*here_);
  if (!waited) system_clock().sleep(seconds);
}

}  // namespace hpcbench
