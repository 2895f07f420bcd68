#include "launch/monitor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/process.hpp"
#include "launch/descendants.hpp"
#include "launch/spawn.hpp"
#include "runfiles/job_files.hpp"

namespace hpcbench {

namespace {

/// Asks for the fields $1, or where the driver knows one of them by another name for the fields $2.
constexpr const char* kSampler = R"(fields=$1
nvidia-smi --query-gpu="$fields" --format=csv > /dev/null 2>&1 || fields=$2
shift 2
exec nvidia-smi --query-gpu="$fields" --format=csv "$@")";

/// What is sampled of a GPU. `reasons`: for a clock below the highest; drivers before 535 have another name for it.
std::string sampled_fields(const char* reasons) {
  return fmt::format(
      "timestamp,index,uuid,utilization.gpu,memory.used,power.draw,clocks.sm,temperature.gpu,{}.active,"
      "ecc.errors.uncorrected.volatile.total",
      reasons);
}

void start_gpu_sampler(const MonitorRequest& request) {
  if (!find_program("nvidia-smi")) return;
  ProcessSpec spec;
  spec.argv = {"/bin/sh",
               "-c",
               kSampler,
               "sh",
               sampled_fields("clocks_event_reasons"),
               sampled_fields("clocks_throttle_reasons"),
               "-l",
               fmt::format("{:.0f}", std::ceil(request.interval_s))};
  constexpr std::string_view kVisible = "CUDA_VISIBLE_DEVICES=";
  for (const std::string& entry : request.environment) {
    if (request.visible_gpus_only && entry.starts_with(kVisible) && entry.size() > kVisible.size())
      spec.argv.push_back("--id=" + entry.substr(kVisible.size()));
  }
  spec.environment = request.environment;
  spec.stdout_path = spec.stderr_path = request.folder + "/" + rank_file("gpu", *request.node_rank, ".csv");
  spec.isolated = true;
  spawn_processes({spec});
}

/// Samples the processes below this one, except the groups of those that exist already.
class LoadSampler {
 public:
  explicit LoadSampler(const std::string& path) : file_(open_study_file(path, O_TRUNC)) {
    for (const Descendant& earlier : find_descendants()) spared_.insert(earlier.group);
    write_text("time_s,processes,cpu_percent,rss_bytes\n");
  }

  void take_sample() {
    double cpu_s = ended_cpu_s();
    long long processes = 0, rss_bytes = 0;
    for (const Descendant& process : find_descendants()) {
      if (spared_.contains(process.group)) continue;
      ++processes;
      cpu_s += process.cpu_s;
      rss_bytes += process.rss_bytes;
    }
    const double time_s = monotonic_s();
    // The time of a process that has ended is unknown until its parent has waited for it: the sum does not shrink.
    const double used_s = std::max(0.0, cpu_s - cpu_s_);
    if (processes > 0)
      write_text(fmt::format("{:.3f},{},{:.1f},{}\n", unix_time_s(), processes, 100 * used_s / (time_s - time_s_), rss_bytes));
    cpu_s_ += used_s;
    time_s_ = time_s;
  }

 private:
  static double ended_cpu_s() {
    rusage ended{};
    ::getrusage(RUSAGE_CHILDREN, &ended);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(ended.ru_utime) + seconds(ended.ru_stime);
  }

  /// Without space the program continues, and so does this.
  void write_text(const std::string& text) const {
    [[maybe_unused]] const ssize_t written = ::write(file_.get(), text.data(), text.size());
  }

  Descriptor file_;
  std::set<pid_t> spared_;
  double cpu_s_ = ended_cpu_s(), time_s_ = monotonic_s();  // at the last sample
};

}  // namespace

Monitor::Monitor(const MonitorRequest& request) {
  if (request.interval_s <= 0 || request.folder.empty()) return;
  if (request.node_rank) start_gpu_sampler(request);
  LoadSampler loads(request.folder + "/" + rank_file("monitor", request.rank, ".csv"));
  if (!request.ranks_are_children) return;
  sampler_ = std::jthread([loads = std::move(loads), interval_s = request.interval_s](const std::stop_token& stop) mutable {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any wake;
    while (!stop.stop_requested()) {
      wake.wait_for(lock, stop, std::chrono::duration<double>(interval_s), [] { return false; });
      if (!stop.stop_requested()) loads.take_sample();
    }
  });
}

}  // namespace hpcbench
