#include "training/training.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "files/tensorboard.hpp"
#include "training/checkpointer.hpp"
#include "training/schedule.hpp"
#include "training/step_trace.hpp"

namespace hpcbench::train {

namespace {

/// The loss of one optimiser step on this rank.
struct StepLoss {
  double mean = 0;     // averaged as for the gradient
  double sum = 0;      // over samples
  double samples = 0;  // of this rank
};

/// A step whose losses have not been read yet.
struct UnreadStep {
  std::int64_t number = 0;
  double start_s = 0;
  std::vector<Reading> losses;  // of its micro-batches, which have
  std::vector<double> weights;
  std::vector<double> samples;
};

/// Maximum number of unread steps: even a user without events wants to know that a training diverged.
constexpr std::size_t kMostUnread = 100;

/// Where this process began an epoch: at its beginning, or at a checkpoint's position.
struct EpochStart {
  double time_s = 0;
  std::int64_t steps = 0;  // made before
  double samples = 0;      // of this rank, before
};

/// One run of the loop: the state that its steps share.
class Loop {
 public:
  Loop(Task& task, Strategy& strategy, const Settings& settings, const World& world, Events& events, Progress& progress,
       const TrainingHooks& hooks)
      : task_(task),
        strategy_(strategy),
        settings_(settings),
        world_(world),
        events_(events),
        progress_(progress),
        hooks_(hooks),
        checkpointer_(task, strategy, settings, world, events),
        learning_rate_(settings, total_steps(settings, world, task.train_samples())),
        trace_(settings, world, total_steps(settings, world, task.train_samples())),
        evaluates_(settings.eval && task.validation_samples() > 0) {
    if (settings.tensorboard && world.rank == 0) board_.emplace(*output_folder(settings) / "tensorboard");
    clear_sums();
  }

  TrainingResult run() {
    progress_.operation = "making folders";
    checkpointer_.make_folders();
    if (settings_.resume) resume();
    progress_.operation = "barrier before the first step";
    strategy_.barrier();
    const double start_s = monotonic_s();
    while (state_.epoch <= last_epoch(settings_) && !is_complete() && !state_.stopped_early) run_epoch();
    trace_.finish();
    const double train_eval_s = monotonic_s() - start_s - checkpointer_.seconds();
    progress_.operation = "saving the model";
    if (settings_.save) checkpointer_.save_model(state_);
    result_.train_s = train_eval_s - result_.eval_s;
    result_.checkpoint_s = checkpointer_.seconds();
    result_.steps = state_.steps;
    return result_;
  }

 private:
  bool is_complete() const { return settings_.max_steps && state_.steps >= *settings_.max_steps; }

  void resume() {
    progress_.operation = "resuming";
    state_ = checkpointer_.resume();
    const std::int64_t epoch_steps = EpochPlan(batch_shape(settings_, world_), task_.train_samples()).steps();
    const bool is_in_epoch = state_.epoch >= 1 && state_.epoch_steps >= 0 && state_.epoch_steps < epoch_steps;
    if (!is_in_epoch || state_.steps != (state_.epoch - 1) * epoch_steps + state_.epoch_steps) {
      throw DataError(concat("error: the checkpoint in ", *settings_.resume, " is damaged: step ", state_.steps,
                             " is not step ", state_.epoch_steps, " of epoch ", state_.epoch, " of ", epoch_steps, " steps"));
    }
    progress_.step = state_.steps;
    set_log_step(state_.steps);
    // Each rank continues with its own part of the sums.
    for (std::size_t index = 0; index < state_.loss_sums.size(); ++index) {
      if (index / 2 != static_cast<std::size_t>(world_.rank)) state_.loss_sums[index] = 0;
    }
    if (world_.rank == 0) log_info(concat("resumed after step ", state_.steps));
  }

  void clear_sums() { state_.loss_sums.assign(2 * static_cast<std::size_t>(world_.size), 0.0); }
  double& loss_sum() { return state_.loss_sums[2 * static_cast<std::size_t>(world_.rank)]; }
  double& sample_sum() { return state_.loss_sums[2 * static_cast<std::size_t>(world_.rank) + 1]; }

  EpochPlan plan_of(int epoch) const {
    const BatchShape shape = batch_shape(settings_, world_);
    const std::vector<std::int32_t> lengths = task_.grouping_lengths();
    if (lengths.empty()) return {shape, epoch_order(task_.train_samples(), settings_.seed, epoch, settings_.shuffle)};
    return {shape, grouped_order(lengths, shape.batch * shape.world_size * shape.accumulate, settings_.seed, epoch)};
  }

  /// Runs an epoch, or the rest of it or of max_steps.
  void run_epoch() {
    const int epoch = state_.epoch;
    const EpochPlan plan = plan_of(epoch);
    train_epoch(plan);
    const bool whole = state_.epoch_steps == plan.steps();
    // An epoch that max_steps cuts short can be continued: save the state before its evaluation.
    if (!whole && keeps_last(settings_)) keep_last();
    if (evaluates_) evaluate(epoch);
    if (world_.rank == 0) log_info(epoch_line_);
    if (!whole) return;
    ++state_.epoch;
    state_.epoch_steps = 0;
    clear_sums();
    if (keeps_last(settings_)) keep_last();
    if (state_.stopped_early) report_early_stop();
  }

  void keep_last() {
    if (!unread_.empty()) {
      read_losses();
      strategy_.barrier();  // no rank with a loss that was not finite gets here: nothing is kept after it
    }
    progress_.operation = "checkpoint";
    checkpointer_.keep_last(state_);
  }

  void train_epoch(const EpochPlan& plan) {
    EpochStart start{monotonic_s(), state_.epoch_steps, sample_sum()};
    const double kept_s = checkpointer_.seconds();
    while (state_.epoch_steps < plan.steps() && !is_complete()) {
      stop_if_terminated();
      trace_.before(state_.steps + 1);
      step(plan);
      trace_.after(state_.steps + 1);
      ++state_.epoch_steps;
      ++state_.steps;
      const bool due = settings_.checkpoint_every > 0 && state_.steps % settings_.checkpoint_every == 0;
      if (due && state_.epoch_steps < plan.steps() && !is_complete()) keep_last();
    }
    read_losses();
    strategy_.catch_up();  // the measured time of an epoch includes all of its updates
    start.time_s += checkpointer_.seconds() - kept_s;
    report_epoch(plan, start);
  }

  /// After SIGTERM: writes a checkpoint if the last state is to be kept, at a step boundary that all ranks share, and ends.
  /// Several ranks learn of it a step later. (A GPU then lags at most a few steps: the length of its queue.)
  void stop_if_terminated() {
    if (!keeps_last(settings_)) return throw_if_terminated(concat("after step ", state_.steps));
    if (!strategy_.any_rank(is_terminated())) return;
    mark_terminated();
    keep_last();
    throw_if_terminated(concat("after step ", state_.steps, ", which is kept as a checkpoint"));
  }

  void step(const EpochPlan& plan) {
    const double start_s = monotonic_s();
    const std::int64_t number = state_.steps + 1;
    progress_.step = number;
    set_log_step(number);
    progress_.operation = "forward and backward";
    const std::int64_t count = plan.micro_batches(state_.epoch_steps);
    std::vector<Share> shares;
    for (std::int64_t index = 0; index < count; ++index) shares.push_back(plan.share(state_.epoch_steps, index, world_.rank));
    const std::vector<double> weights = micro_weights(shares);
    const double nominal = nominal_factor(shares);
    std::vector<MicroBatch> batches;
    for (std::size_t index = 0; index < shares.size(); ++index) {
      const Share& share = shares[index];
      batches.push_back({share.samples, {number, share.first_position, share.stride}, weights[index] * nominal});
    }
    unread_.push_back({number, start_s, strategy_.forward_backward(batches), weights, sample_counts(shares)});
    // A loss on a GPU is read later; a loss that is not finite makes no step there either.
    if (!unread_.back().losses.front().is_there()) read_losses();
    if (hooks_.after_backward) hooks_.after_backward(number, strategy_);
    progress_.operation = "optimizer step";
    const double lr = learning_rate_.at_step(number, state_.epoch);
    const std::optional<Reading> norm = strategy_.optimizer_step(lr);
    report_step(plan, lr, norm, start_s);
    if (unread_.size() >= kMostUnread) read_losses();
  }

  /// Returns the weights of the micro-batches of a step, with the sum 1: equal, or by their samples.
  std::vector<double> micro_weights(const std::vector<Share>& shares) const {
    std::int64_t samples = 0;
    for (const Share& share : shares) samples += share.samples.size(0);
    std::vector<double> weights;
    for (const Share& share : shares) {
      const bool by_samples = settings_.loss_average == LossAverage::global;
      weights.push_back(by_samples ? static_cast<double>(share.samples.size(0)) / static_cast<double>(samples)
                                   : 1 / static_cast<double>(shares.size()));
    }
    return weights;
  }

  /// Returns a factor below 1 if an epoch's incomplete last step is divided by as many micro-batches as a complete one.
  double nominal_factor(const std::vector<Share>& shares) const {
    if (settings_.accumulate_by == AccumulateBy::real) return 1;
    return static_cast<double>(shares.size()) / static_cast<double>(settings_.accumulate);
  }

  static std::vector<double> sample_counts(const std::vector<Share>& shares) {
    std::vector<double> counts;
    for (const Share& share : shares) counts.push_back(static_cast<double>(share.samples.size(0)));
    return counts;
  }

  /// `losses` points to those of the step.
  StepLoss step_loss(const UnreadStep& step, const double* losses) {
    StepLoss loss;
    for (std::size_t index = 0; index < step.losses.size(); ++index) {
      if (!std::isfinite(losses[index])) {
        progress_.step = step.number;
        throw Diverged(concat("the loss is ", losses[index], " at step ", step.number, " (epoch ", state_.epoch,
                              "): the training diverged; no step is made from it. A lower learning rate, a warm-up or "
                              "`clip` may help"));
      }
      loss.mean += losses[index] * step.weights[index];
      loss.sum += losses[index] * step.samples[index];
      loss.samples += step.samples[index];
    }
    return loss;
  }

  /// Reads the losses of the steps since the last call, all of this epoch. For a GPU's the host waits.
  void read_losses() {
    if (unread_.empty()) return;
    std::vector<Reading> readings;
    for (const UnreadStep& step : unread_) readings.insert(readings.end(), step.losses.begin(), step.losses.end());
    const std::vector<double> losses = read_all(readings);
    const double* next = losses.data();
    for (const UnreadStep& step : unread_) {
      last_loss_ = step_loss(step, next);
      next += step.losses.size();
      loss_sum() += last_loss_.sum;
      sample_sum() += last_loss_.samples;
    }
    unread_.clear();
  }

  void report_step(const EpochPlan& plan, double lr, const std::optional<Reading>& norm, double start_s) {
    const std::int64_t number = state_.steps + 1;
    if (settings_.log_every == 0 || number % settings_.log_every != 0) return;
    // The mean over steps that are read together.
    const double since_s = unread_.empty() ? start_s : unread_.front().start_s;
    const auto steps = static_cast<double>(std::max<std::size_t>(1, unread_.size()));
    read_losses();
    if (world_.rank != 0) return;
    const double step_s = (monotonic_s() - since_s) / steps;
    const at::Tensor samples = plan.step_samples(state_.epoch_steps);
    Event event("step");
    event.add("step", number).add("loss", last_loss_.mean).add("lr", lr).add("step_s", step_s).add("samples", samples.size(0));
    if (const auto tokens = task_.tokens(samples)) event.add("tokens", *tokens);
    if (norm) event.add("grad_norm", norm->read());
    events_.write(event);
    if (!board_) return;
    board_->scalar("train/loss", number, last_loss_.mean);
    board_->scalar("train/lr", number, lr);
    if (norm) board_->scalar("train/grad_norm", number, norm->read());
  }

  /// Returns the tokens of this epoch's steps from `first_step` on, over all ranks.
  std::optional<std::int64_t> epoch_tokens(const EpochPlan& plan, std::int64_t first_step) const {
    std::int64_t total = 0;
    for (std::int64_t step = first_step; step < state_.epoch_steps; ++step) {
      const std::optional<std::int64_t> tokens = task_.tokens(plan.step_samples(step));
      if (!tokens) return std::nullopt;
      total += *tokens;
    }
    return total;
  }

  /// The loss is that of the whole epoch; counts are those of this process in the reported time.
  void report_epoch(const EpochPlan& plan, const EpochStart& start) {
    progress_.operation = "summing the losses of an epoch";
    std::vector<double> sums = {loss_sum(), sample_sum(), sample_sum() - start.samples};
    strategy_.sum_over_ranks(sums);
    const double loss = sums[0] / sums[1];
    const double epoch_s = monotonic_s() - start.time_s;
    if (world_.rank != 0) return;
    Event event("epoch");
    event.add("epoch", state_.epoch).add("epoch_s", epoch_s).add("train_loss", loss);
    event.add("samples", static_cast<std::int64_t>(sums[2])).add("optimizer_steps", state_.epoch_steps - start.steps);
    if (const auto tokens = epoch_tokens(plan, start.steps)) event.add("tokens", *tokens);
    events_.write(event);
    if (board_) board_->scalar("train/epoch_loss", state_.steps, loss);
    const std::string of = settings_.epochs ? concat(" of ", *settings_.epochs) : "";
    epoch_line_ = concat("epoch ", state_.epoch, of, ": training loss ", decimals(loss, 4), ", ", decimals(epoch_s, 2), " s");
  }

  void evaluate(int epoch) {
    const double start_s = monotonic_s();
    progress_.operation = "evaluation";
    strategy_.begin_evaluation();
    std::vector<Measure> measures = task_.evaluate(world_.rank, world_.size);
    strategy_.end_evaluation();
    std::vector<double> sums;
    for (const Measure& measure : measures) sums.insert(sums.end(), {measure.sum, measure.weight});
    strategy_.sum_over_ranks(sums);
    for (std::size_t index = 0; index < measures.size(); ++index) measures[index].sum = sums[2 * index] / sums[2 * index + 1];
    checkpointer_.keep_predictions();
    const double eval_s = monotonic_s() - start_s;
    result_.eval_s += eval_s;
    report_evaluation(epoch, measures, eval_s);
    note_best(epoch, measures.front().sum);
  }

  void report_evaluation(int epoch, const std::vector<Measure>& measures, double eval_s) {
    if (world_.rank != 0) return;
    Event event("eval");
    event.add("epoch", epoch).add("eval_s", eval_s);
    std::string line;
    for (const Measure& measure : measures) {
      event.add(measure.name, measure.sum);
      if (board_) board_->scalar("eval/" + measure.name, state_.steps, measure.sum);
      line += concat(line.empty() ? "; " : ", ", measure.name == "val_loss" ? "validation loss" : measure.name, " ",
                     decimals(measure.sum, 4));
    }
    events_.write(event);
    epoch_line_ += concat(line, ", ", decimals(eval_s, 2), " s");
  }

  /// All ranks know the same sums, so they reach the same result.
  void note_best(int epoch, double loss) {
    if (std::isfinite(loss) && (!state_.best_loss || loss < *state_.best_loss)) {
      state_.best_loss = loss;
      state_.best_epoch = epoch;
      state_.worse_evaluations = 0;
      progress_.operation = "checkpoint";
      if (keeps_best(settings_)) checkpointer_.keep_best(state_);
    } else {
      ++state_.worse_evaluations;
    }
    state_.stopped_early = settings_.patience && state_.worse_evaluations >= *settings_.patience;
  }

  void report_early_stop() {
    if (world_.rank != 0) return;
    Event event("early_stop");
    event.add("epoch", state_.epoch - 1).add("best_epoch", state_.best_epoch);
    if (state_.best_loss) event.add("best_val_loss", *state_.best_loss);
    events_.write(event);
    log_info(concat("stopped early: the validation loss was lowest after epoch ", state_.best_epoch));
  }

  Task& task_;
  Strategy& strategy_;
  const Settings& settings_;
  const World& world_;
  Events& events_;
  Progress& progress_;
  const TrainingHooks& hooks_;
  Checkpointer checkpointer_;
  LearningRate learning_rate_;
  StepTrace trace_;
  bool evaluates_;
  std::optional<TensorBoardFile> board_;
  TrainingState state_;
  std::vector<UnreadStep> unread_;
  std::string epoch_line_;  // of the ending epoch, for people
  StepLoss last_loss_;      // of the last step that was read
  TrainingResult result_;
};

}  // namespace

BatchShape batch_shape(const Settings& settings, const World& world) {
  return {world.size, batch_per_process(settings, world), settings.accumulate, settings.order};
}

std::int64_t total_steps(const Settings& settings, const World& world, std::int64_t train_samples) {
  const std::int64_t steps = EpochPlan(batch_shape(settings, world), train_samples).steps();
  const std::int64_t of_epochs =
      steps * std::min<std::int64_t>(last_epoch(settings), (std::int64_t{1} << 62) / std::max<std::int64_t>(1, steps));
  return settings.max_steps ? std::min(*settings.max_steps, of_epochs) : of_epochs;
}

TrainingResult train(Task& task, Strategy& strategy, const Settings& settings, const World& world, Events& events,
                     Progress& progress, const TrainingHooks& hooks) {
  return Loop(task, strategy, settings, world, events, progress, hooks).run();
}

}  // namespace hpcbench::train
