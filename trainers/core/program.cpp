#include "core/program.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <sys/resource.h>
#include <torch/version.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/options.hpp"
#include "core/signals.hpp"
#include "core/text.hpp"
#include "strategies/group.hpp"

namespace hpcbench::train {

namespace {

/// Why a run ended, as the program will say it.
struct Failure {
  std::string text;  // without "error: "
  int exit_code = kExitFailed;
  bool out_of_memory = false;
  bool of_peer = false;  // `text` is already another rank's
};

std::string without_prefix(const std::string& text) { return text.rfind("error: ", 0) == 0 ? text.substr(7) : text; }

bool says_out_of_memory(const std::string& text) {
  return text.find("can't allocate memory") != std::string::npos || text.find("out of memory") != std::string::npos;
}

/// The exception in flight.
Failure current_failure() {
  try {
    throw;
  } catch (const InputError& error) {
    return {without_prefix(error.what()), kExitInput};
  } catch (const DataError& error) {
    return {without_prefix(error.what()), kExitData};
  } catch (const PeerError& error) {
    return {error.what(), kExitFailed, false, true};
  } catch (const Terminated& error) {
    return {error.what(), kExitTerminated};
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return {text, kExitFailed, says_out_of_memory(text)};
  } catch (const std::bad_alloc&) {
    return {"out of memory", kExitFailed, true};
  } catch (const std::exception& error) {
    return {error.what(), kExitFailed, says_out_of_memory(error.what())};
  }
}

double seconds(const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; }

/// One rank from set-up to the last event.
class Run {
 public:
  Run(const Settings& settings, const World& world, const TrainingHooks& hooks)
      : settings_(settings), world_(world), hooks_(hooks), events_(settings.events_folder, world.rank) {}

  int run() {
    try {
      set_up();
      const double setup_s = monotonic_s() - start_s_ - data_s_;
      const TrainingResult result = train(*task_, *strategy_, settings_, world_, events_, progress_, hooks_);
      progress_.operation = "end of the run";
      if (hooks_.at_end) hooks_.at_end(*strategy_);
      write_end(result, setup_s);
      if (group_) group_->finish();
      return 0;
    } catch (...) {
      return fail(current_failure());
    }
  }

 private:
  void set_up() {
    check_settings(settings_, world_);
    const StrategyRow& row = find_strategy(settings_.strategy, world_);
    task_ = make_task(settings_);
    if (row.several_processes) {
      progress_.operation = "meeting the other ranks";
      group_ = std::make_unique<Group>(world_, settings_.timeout_s, [this](const std::string& cause) { end_of_peer(cause); });
    }
    load_data();
    if (group_) group_->agree("data");
    progress_.operation = "connecting the ranks";
    StrategyContext context{{settings_.optimizer, settings_.momentum, weight_decay(settings_)}};
    context.bucket_cap_mb = settings_.bucket_cap_mb;
    context.group = group_.get();
    context.mutation = hooks_.mutation;
    strategy_ = row.make(context);
    strategy_->prepare(task_->model());
    // Only now: the threads that communicate are there already, and stay free to run on any core.
    bound_ = settings_.bind && bind_to_share_of_cores(world_, at::get_num_threads());
    write_start();
  }

  void load_data() {
    progress_.operation = "reading the data";
    const double start_s = monotonic_s();
    task_->load();
    data_s_ = monotonic_s() - start_s;
    if (settings_.eval && task_->validation_samples() == 0)
      throw InputError("error: train_share leaves no samples to validate: choose a smaller one, or `--eval false`");
    const std::int64_t batch = batch_per_process(settings_, world_);
    const EpochShape shape = epoch_shape(task_->train_samples(), world_.size, batch);
    if (std::min(batch, shape.last_batch) < task_->least_batch())
      throw InputError(concat("error: batch normalisation needs at least ", task_->least_batch(),
                              " samples a step and process, but with batches of ", batch, " the last of the ",
                              task_->train_samples(), " training samples make one of ", shape.last_batch,
                              ": choose another batch size"));
  }

  void write_start() {
    const std::vector<std::string> hosts =
        group_ ? group_->exchange("host", world_.host) : std::vector<std::string>{world_.host};
    const std::int64_t global_batch = batch_per_process(settings_, world_) * world_.size;
    const std::vector<std::pair<std::string, std::string>> versions = {{"hpcbench", HPCBENCH_VERSION},
                                                                       {"torch", TORCH_VERSION}};
    events_.write(Event("run_start")
                      .add("task", settings_.task)
                      .add("strategy", settings_.strategy)
                      .add("world_size", world_.size)
                      .add("gpus", settings_.gpus.value_or(world_.size))
                      .add("precision", std::string(to_string(settings_.precision)))
                      .add("global_batch", global_batch)
                      .add("seed", static_cast<std::int64_t>(settings_.seed))
                      .add("optimizer", std::string(to_string(settings_.optimizer)))
                      .add("loss_average", std::string("rank_mean"))
                      .add("threads", at::get_num_threads())
                      .add("bound", bound_ ? 1 : 0)
                      .add("versions", versions)
                      .add("device", std::string("cpu"))
                      .add("hosts", hosts));
    if (world_.rank != 0) return;
    std::printf(
        "%s, %s on %d process%s of %d thread%s: %lld training and %lld validation samples, global batch %lld, %s, seed %llu\n",
        settings_.task.c_str(), settings_.strategy.c_str(), world_.size, world_.size == 1 ? "" : "es", at::get_num_threads(),
        at::get_num_threads() == 1 ? "" : "s", static_cast<long long>(task_->train_samples()),
        static_cast<long long>(task_->validation_samples()), static_cast<long long>(global_batch),
        to_string(settings_.precision), static_cast<unsigned long long>(settings_.seed));
    if (const auto note = task_->note()) {
      std::printf("note: %s\n", note->c_str());
      events_.write(Event("warning").add("code", std::string("train_share")).add("text", *note));
    }
    std::fflush(stdout);
  }

  void write_end(const TrainingResult& result, double setup_s) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    events_.write(Event("run_end")
                      .add("train_s", result.train_s)
                      .add("train_eval_s", result.train_s + result.eval_s)
                      .add("setup_s", setup_s)
                      .add("data_s", data_s_)
                      .add("eval_s", result.eval_s)
                      .add("max_rss_bytes", std::int64_t{usage.ru_maxrss} * 1024)
                      .add("user_s", seconds(usage.ru_utime))
                      .add("sys_s", seconds(usage.ru_stime)));
    if (world_.rank == 0) std::printf("trained in %.3f s (%lld steps)\n", result.train_s, static_cast<long long>(result.steps));
    std::fflush(stdout);
  }

  std::string who() const { return world_.size == 1 ? "" : concat("rank ", world_.rank, " on ", world_.host, ": "); }

  std::string place() const {
    return progress_.step == 0 ? progress_.operation : concat("step ", progress_.step, ", ", progress_.operation);
  }

  /// Says why this rank ends, tells the others, and ends.
  int fail(Failure failure) {
    const bool alone = !group_;
    if (!alone && !group_->claim_report()) pause_forever();
    if (is_terminated()) failure.exit_code = kExitTerminated;
    std::string own = failure.of_peer ? failure.text : concat(who(), failure.text);
    if (!failure.of_peer && failure.exit_code == kExitFailed) own += concat(" (", place(), ")");
    if (alone) {
      report(own, own, failure);
      return failure.exit_code;
    }
    const std::string root = group_->report_failure(own);
    report(root, own, failure);
    end_process(failure.exit_code);
  }

  void report(const std::string& root, const std::string& own, const Failure& failure) {
    if (failure.exit_code == kExitTerminated) {
      std::fprintf(stderr, "%s\n", own.c_str());
      events_.write(Event("warning").add("code", std::string("terminated")).add("text", own).add("step", progress_.step));
      return;
    }
    if (root == own) {
      std::fprintf(stderr, "error: %s\n", own.c_str());
    } else {
      std::fprintf(stderr, "error: another rank failed first: %s\n", root.c_str());
    }
    Event event("error");
    event.add("text", root == own ? own : "another rank failed first: " + root);
    if (failure.out_of_memory) event.add("code", std::string("out_of_memory"));
    events_.write(event.add("step", progress_.step).add("operation", progress_.operation).add("cause", root));
  }

  /// In the group's thread: another rank failed while this one was at work.
  void end_of_peer(const std::string& cause) {
    report(cause, "", {cause, is_terminated() ? kExitTerminated : kExitFailed, false, true});
    end_process(is_terminated() ? kExitTerminated : kExitFailed);
  }

  [[noreturn]] static void end_process(int exit_code) {
    std::fflush(stdout);
    std::fflush(stderr);
    _exit(exit_code);
  }

  /// The other thread reports and ends the process.
  [[noreturn]] static void pause_forever() {
    for (;;) pause();
  }

  Settings settings_;
  World world_;
  TrainingHooks hooks_;
  Events events_;
  Progress progress_;
  double start_s_ = monotonic_s();
  double data_s_ = 0;
  bool bound_ = false;
  std::unique_ptr<Task> task_;
  std::unique_ptr<Group> group_;
  std::unique_ptr<Strategy> strategy_;
};

}  // namespace

int run_training(const Settings& settings, const World& world, const TrainingHooks& hooks) {
  at::set_num_threads(thread_count(process_environment, world));
  at::globalContext().setDeterministicAlgorithms(true, false);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  try {
    return Run(settings, world, hooks).run();
  } catch (...) {
    const Failure failure = current_failure();
    std::fprintf(stderr, "error: %s\n", failure.text.c_str());
    return failure.exit_code;
  }
}

int main_program(const std::vector<std::string>& arguments) {
  try {
    // c10d tells of every attempt to reach a store that is not up yet; what matters comes as an error.
    setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 0);
    const Command command = read_command(arguments, process_environment,
                                         concat("hpcbench-train ", HPCBENCH_VERSION, " (LibTorch ", TORCH_VERSION, ")"));
    if (command.text) {
      std::fputs(command.text->c_str(), stdout);
      return 0;
    }
    const World world = read_world(process_environment);
    install_signal_flags();
    return run_training(command.settings, world);
  } catch (...) {
    const Failure failure = current_failure();
    std::fprintf(stderr, "error: %s\n", failure.text.c_str());
    return failure.exit_code;
  }
}

}  // namespace hpcbench::train
