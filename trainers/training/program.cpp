#include "training/program.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/Logging.h>
#include <torch/version.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "devices/device.hpp"
#include "strategies/group.hpp"
#include "strategies/measures.hpp"
#include "strategies/socket_traffic.hpp"
#include "tasks/task.hpp"
#include "training/agreement.hpp"
#include "training/run_facts.hpp"
#include "training/training.hpp"

namespace hpcbench::train {

namespace {

/// Why a run ended, for the message.
struct Failure {
  std::string text;  // without "error: "
  int exit_code = kExitFailed;
  std::string code = {};  // of the error event: out_of_memory, nan_loss, or none
  bool of_peer = false;   // `text` is already another rank's
  bool of_all = false;    // each rank detects it itself
};

constexpr const char* kOutOfMemory = "out_of_memory";

/// The backends between ranks, printed by --version; `hpcbench doctor` reads it.
#ifdef USE_C10D_NCCL
constexpr const char* kBackends = ", Gloo, NCCL";
#else
constexpr const char* kBackends = ", Gloo";
#endif

std::string without_prefix(const std::string& text) { return text.rfind("error: ", 0) == 0 ? text.substr(7) : text; }

/// LibTorch's message of an error that it has caught and rethrown contains the call stack of the first one.
std::string without_calls(const std::string& text) { return text.substr(0, text.find("\nException raised from ")); }

std::string code_of(const std::string& text) {
  // Marks of memory errors: of the host, of a GPU, and of cuBLAS and cuDNN (from 9 on by longer names), which allocate GPU
  // memory themselves.
  constexpr const char* kMarks[] = {"can't allocate memory",
                                    "out of memory",
                                    "CUBLAS_STATUS_ALLOC_FAILED",
                                    "CUDNN_STATUS_ALLOC_FAILED",
                                    "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
                                    "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"};
  for (const char* mark : kMarks) {
    if (text.find(mark) != std::string::npos) return kOutOfMemory;
  }
  return "";
}

/// Returns the exception in flight.
Failure current_failure() {
  try {
    throw;
  } catch (const SharedInputError& error) {
    return {.text = without_prefix(error.what()), .exit_code = kExitInput, .of_all = true};
  } catch (const InputError& error) {
    return {without_prefix(error.what()), kExitInput};
  } catch (const DataError& error) {
    return {without_prefix(error.what()), kExitData};
  } catch (const PeerError& error) {
    return {error.what(), kExitFailed, "", true};
  } catch (const Terminated& error) {
    return {error.what(), kExitTerminated};
  } catch (const c10::OutOfMemoryError& error) {  // of a GPU; a CPU's is a c10::Error or std::bad_alloc
    return {without_calls(error.what_without_backtrace()), kExitFailed, kOutOfMemory};
  } catch (const c10::Error& error) {
    const std::string text = without_calls(error.what_without_backtrace());
    return {text, kExitFailed, code_of(text)};
  } catch (const Diverged& error) {
    return {error.what(), kExitFailed, "nan_loss"};
  } catch (const std::bad_alloc&) {
    return {"out of memory", kExitFailed, kOutOfMemory};
  } catch (const std::exception& error) {
    return {error.what(), kExitFailed, code_of(error.what())};
  }
}

/// One rank from set-up to the last event.
class Run {
 public:
  Run(const Settings& settings, const World& world, const TrainingHooks& hooks)
      : settings_(settings), world_(world), hooks_(hooks), events_(event_file(settings, world.rank), world.rank) {}

  int run() {
    try {
      set_up();
      facts_.setup_s = monotonic_s() - start_s_ - facts_.data_s;
      const std::optional<double> energy_before_j = device_->energy_j();
      const TrainingResult result = train(*task_, *strategy_, settings_, world_, events_, progress_, hooks_);
      progress_.operation = "end of the run";
      // Before the ranks meet for the last time: a rank that leaves closes the sockets of the remaining ranks, and their counts
      // are lost.
      facts_.socket_bytes_after = socket_bytes_sent();
      if (hooks_.at_end) hooks_.at_end(*strategy_);
      facts_.max_device_bytes = device_->max_bytes();
      facts_.gpu_energy_j = sum_of_energy(energy_before_j, device_->energy_j());
      write_run_end(events_, result, facts_, world_, compare_ranks(*strategy_, world_));
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
    choose_device();
    progress_.operation = "making the model";
    task_ = make_task(settings_);
    if (settings_.kernels == KernelChoice::automatic) settings_.kernels = task_->choose_kernels();
    if (row.several_processes) {
      progress_.operation = "meeting the other ranks";
      group_ = std::make_unique<Group>(
          world_, settings_.timeout_s, [this](const std::string& cause) { end_of_peer(cause); }, *device_);
      if (settings_.exchange == ExchangeChoice::shared_memory) group_->choose_exchange_way(ExchangeWay::shared_memory);
      if (device_->is_cuda()) {
        end_with_watchdog();
        group_->when_late([this](const std::string& what) { end_process(fail({what, kExitFailed})); });
      }
      group_->refuse_shared_gpus(device_->uuid());  // for a CPU, too: other ranks may have GPUs
    }
    load_data();
    task_->place(device_->place());
    if (group_) {
      group_->agree("data");
      refuse_different_settings(group_->exchange(shared_settings(settings_, task_->train_samples())));
    }
    progress_.operation = "connecting the ranks";
    StrategyContext context{
        {settings_.optimizer, settings_.momentum, weight_decay(settings_), settings_.decay_bias, settings_.clip}};
    context.settings = settings_;
    context.group = group_.get();
    context.device = device_.get();
    const bool on_gpu = device_->is_cuda(), own = settings_.kernels == KernelChoice::own;
    context.optimizer.torch_kernels = on_gpu || !own;
    if (on_gpu && own && settings_.optimizer == OptimizerKind::adamw) context.optimizer.gpu_program = compile_adamw_kernels();
    strategy_ = row.make(context);
    strategy_->prepare(*task_);
    // Only now: the threads that communicate already exist, and stay free to run on any core.
    facts_.bound = settings_.bind && bind_to_share_of_cores(world_, at::get_num_threads());
    facts_.hosts = group_ ? group_->exchange(world_.host) : std::vector<std::string>{world_.host};
    facts_.socket_bytes_before = socket_bytes_sent();
    if (group_ && device_->is_cuda()) {
      for (auto& fact : transport_facts(join_transports(group_->exchange(transport_line(device_->transport())))))
        facts_.device.push_back(std::move(fact));
    }
    // Only now: connecting the ranks sets variables, too.
    facts_.environment = recorded_environment(environ);
    write_run_start(events_, settings_, world_, *task_, facts_);
  }

  /// Returns the energy of all ranks' GPUs; nullopt if one rank does not know it. Collective.
  std::optional<double> sum_of_energy(const std::optional<double>& before_j, const std::optional<double>& after_j) {
    if (!device_->is_cuda()) return std::nullopt;
    const bool is_known = before_j && after_j;
    std::vector<double> sums = {is_known ? *after_j - *before_j : 0, is_known ? 0.0 : 1.0};
    strategy_->sum_over_ranks(sums);
    return sums[1] == 0 ? std::optional(sums[0]) : std::nullopt;
  }

  void choose_device() {
    progress_.operation = "choosing the device";
    const Machine machine = find_machine(process_environment);
    const DevicePlan plan = plan_device(settings_, world_, machine);
    apply_plan(settings_, plan);
    device_ = make_device(plan, settings_, machine);
    facts_.device = device_->facts();
    facts_.device_versions = device_->versions();
    facts_.advice = hidden_peers_advice(world_, plan, machine);
  }

  /// A collective of NCCL that does not end within the timeout ends the process in NCCL's own thread, by an uncaught exception.
  /// Before that it is reported like any other failure.
  void end_with_watchdog() {
    static Run* run = nullptr;
    run = this;
    std::set_terminate([] {
      Failure failure{"the process was ended without a word", kExitFailed};
      if (std::current_exception()) failure = current_failure();
      static_cast<void>(run->fail(failure));
      end_process(failure.exit_code);
    });
  }

  void load_data() {
    progress_.operation = "reading the data";
    const double start_s = monotonic_s();
    task_->load();
    facts_.data_s = monotonic_s() - start_s;
    if (task_->train_samples() == 0) throw DataError("error: there is nothing to train on: the data has no training samples");
    if (task_->validation_samples() == 0 && (settings_.patience || keeps_best(settings_))) {
      throw InputError(concat("error: ", settings_.patience ? "patience" : "the best checkpoint",
                              " goes by the validation loss, but there is nothing to validate with"));
    }
    const BatchShape shape = batch_shape(settings_, world_);
    const int devices = device_count(settings_);
    const std::int64_t least = EpochPlan(shape, task_->train_samples()).least_part(devices);
    if (least < task_->least_batch()) {
      throw InputError(concat("error: batch normalisation needs at least ", task_->least_batch(), " samples a step and ",
                              devices > 1 ? "device" : "process", ", but with batches of ", shape.batch,
                              devices > 1 ? concat(" on ", devices, " devices") : "", " and ", task_->train_samples(),
                              " training samples one has ", least, ": choose another batch size"));
    }
  }

  std::string who() const { return world_.size == 1 ? "" : concat("rank ", world_.rank, " on ", world_.host, ": "); }

  std::string place() const {
    return progress_.step == 0 ? progress_.operation : concat("step ", progress_.step, ", ", progress_.operation);
  }

  /// Reports why this rank ends, tells the others, and ends.
  int fail(Failure failure) {
    const bool alone = !group_;
    if (!alone && !group_->claim_report()) pause_forever();
    if (is_terminated()) failure.exit_code = kExitTerminated;
    std::string own = failure.of_peer ? failure.text : concat(who(), failure.text);
    if (!failure.of_peer && failure.exit_code == kExitFailed) own += concat(" (", place(), ")");
    if (alone) {
      report(own, own, failure);
      if (world_.size > 1) end_process(failure.exit_code);  // a thread may still wait for the store
      return failure.exit_code;
    }
    const std::string root = failure.of_all && leave_together() ? own : group_->report_failure(own);
    report(root, own, failure);
    end_process(failure.exit_code);
  }

  /// Rank 0 leaves last: it holds the data that the others still read. Returns false if one of them does not arrive.
  bool leave_together() {
    try {
      group_->finish();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  void report(const std::string& root, const std::string& own, const Failure& failure) {
    if (failure.exit_code == kExitTerminated) {
      const std::string said = own.empty() ? concat(who(), "stopped by SIGTERM, after another rank: ", root) : own;
      log_warning(said);
      events_.write(Event("warning").add("code", std::string("terminated")).add("text", said).add("step", progress_.step));
      return;
    }
    const std::string text = root == own ? own : "another rank failed first: " + root;
    log_error("error: " + text);
    Event event("error");
    event.add("text", text);
    if (!failure.code.empty()) event.add("code", failure.code);
    if (failure.code == kOutOfMemory && device_) {
      if (const auto bytes = device_->max_bytes()) event.add("max_device_bytes", *bytes);
    }
    events_.write(event.add("step", progress_.step).add("operation", progress_.operation).add("cause", root));
  }

  /// Called in the group's thread: another rank failed while this one was working.
  void end_of_peer(const std::string& cause) {
    report(cause, "", {cause, is_terminated() ? kExitTerminated : kExitFailed, "", true});
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
  RunFacts facts_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<Group> group_;
  std::unique_ptr<Strategy> strategy_;
};

/// Returns the commands of all tasks.
std::vector<TaskCommand> task_commands() {
  std::vector<TaskCommand> commands;
  for (const TaskRow& row : task_rows()) commands.insert(commands.end(), row.commands.begin(), row.commands.end());
  return commands;
}

}  // namespace

int run_training(const Settings& settings, const World& world, const TrainingHooks& hooks) {
  at::set_num_threads(thread_count(process_environment, world));
  at::globalContext().setDeterministicAlgorithms(true, false);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  open_log(world.rank, log_file(settings, world.rank));
  try {
    return Run(settings, world, hooks).run();
  } catch (...) {
    const Failure failure = current_failure();
    log_error("error: " + failure.text);
    return failure.exit_code;
  }
}

int main_program(const std::vector<std::string>& arguments) {
  try {
    const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
    const std::vector<TaskCommand> others = task_commands();
    for (const TaskCommand& other : others) {
      if (!arguments.empty() && arguments.front() == other.name) return other.run(rest);
    }
    // c10d logs every attempt to reach a store that is not up yet; real failures are reported as errors.
    setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
    c10::initLogging();
    const Command command =
        read_command(arguments, process_environment,
                     concat("hpcbench-train ", HPCBENCH_VERSION, " (LibTorch ", TORCH_VERSION, kBackends, ")"), others);
    if (command.text) {
      std::fputs(command.text->c_str(), stdout);
      return 0;
    }
    const World world = read_world(process_environment);
    install_signal_flags();
    return run_training(command.settings, world, {});
  } catch (...) {
    const Failure failure = current_failure();
    log_error("error: " + failure.text);
    return failure.exit_code;
  }
}

}  // namespace hpcbench::train
