#include "training/step_trace.hpp"

#include <ATen/Context.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "files/folder.hpp"

namespace hpcbench::train {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;

StepTrace::StepTrace(const Settings& settings, const World& world, std::int64_t total)
    : steps_(settings.trace), speaks_(world.rank == 0) {
  if (!steps_) return;
  if (steps_->last > total) {
    throw InputError(
        concat("error: trace ", to_string(*steps_), ": the training has ", total, total == 1 ? " step" : " steps", " only"));
  }
  if (settings.device == DeviceChoice::cuda) gpus_ = device_count(settings);
  file_ = *output_folder(settings) / "trace" / concat("rank-", world.rank, ".json");
  make_folder(file_.parent_path());
  setenv("KINETO_LOG_LEVEL", "6", 0);  // relevant errors are reported below
}

StepTrace::~StepTrace() {
  if (running_) profiler::disableProfiler();
}

void StepTrace::before(std::int64_t number) {
  if (!steps_ || running_ || number < steps_->first || number > steps_->last) return;
  wait_for_gpus();  // the GPUs lag behind: their earlier steps are not traced
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO,
                                                     /*report_input_shapes=*/true);
  std::set<ActivityType> activities = {ActivityType::CPU};
  if (gpus_ > 0) activities.insert(ActivityType::CUDA);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
  running_ = true;
  traced_.first = number;
}

void StepTrace::after(std::int64_t number) {
  if (!running_) return;
  traced_.last = number;
  if (number == steps_->last) write();
}

void StepTrace::finish() {
  if (running_) write();
  const bool is_there = traced_.last > 0 || std::filesystem::exists(file_);  // by the process that made these steps
  if (!steps_ || is_there || !speaks_) return;
  log_warning(concat("warning: no trace was written: this process made no step of trace ", to_string(*steps_)));
}

void StepTrace::wait_for_gpus() const {
  if (gpus_ == 0) return;
  const at::CUDAHooksInterface& cuda = at::detail::getCUDAHooks();
  const c10::DeviceIndex first = cuda.getCurrentDevice();
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    cuda.deviceSynchronize(static_cast<c10::DeviceIndex>(first + gpu));
  }
}

void StepTrace::write() {
  wait_for_gpus();
  running_ = false;
  const auto result = profiler::disableProfiler();
  result->save(file_.string());
  const auto& events = result->events();
  const bool has_kernels =
      std::any_of(events.begin(), events.end(), [](const auto& event) { return event.deviceType() == c10::DeviceType::CUDA; });
  if (gpus_ > 0 && !has_kernels) {
    log_warning(concat("warning: ", file_.string(),
                       " has no kernels: CUPTI did not tell LibTorch of any. The driver may reserve them for administrators "
                       "(NVreg_RestrictProfilingToAdminUsers), or another profiler may be running"));
  }
  if (speaks_) {
    const char* const steps = traced_.first == traced_.last ? "trace of step " : "trace of steps ";
    log_info(concat(steps, to_string(traced_), ": ", file_.string(), ", for https://ui.perfetto.dev"));
  }
}

}  // namespace hpcbench::train
