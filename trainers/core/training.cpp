#include "core/training.hpp"

#include <cstdio>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/signals.hpp"
#include "core/text.hpp"
#include "data/order.hpp"

namespace hpcbench::train {

namespace {

/// One run of the loop: state that its steps share.
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
        batch_(batch_per_process(settings, world)) {}

  TrainingResult run() {
    progress_.operation = "barrier before the first step";
    strategy_.barrier();
    const double start_s = monotonic_s();
    double lr = learning_rate(settings_);
    for (int epoch = 1; epoch <= settings_.epochs && !is_complete(); ++epoch) {
      train_epoch(epoch, lr);
      if (settings_.eval) evaluate(epoch);
      lr *= settings_.gamma;
    }
    result_.train_s = monotonic_s() - start_s - result_.eval_s;
    return result_;
  }

 private:
  bool is_complete() const { return settings_.max_steps && result_.steps >= *settings_.max_steps; }

  void train_epoch(int epoch, double lr) {
    const double start_s = monotonic_s();
    const std::int64_t first_step = result_.steps;
    const at::Tensor share =
        epoch_share(task_.train_samples(), settings_.seed, epoch, settings_.shuffle, world_.rank, world_.size);
    double loss_sum = 0;
    double samples = 0;
    for (std::int64_t offset = 0; offset < share.size(0) && !is_complete(); offset += batch_) {
      throw_if_terminated(concat("after step ", result_.steps));
      const std::int64_t count = std::min(batch_, share.size(0) - offset);
      loss_sum += step(share.narrow(0, offset, count), lr) * static_cast<double>(count);
      samples += static_cast<double>(count);
    }
    progress_.operation = "summing the losses of an epoch";
    std::vector<double> sums = {loss_sum, samples};
    strategy_.sum_over_ranks(sums);
    train_loss_ = sums[0] / sums[1];
    epoch_s_ = monotonic_s() - start_s;
    if (world_.rank != 0) return;
    events_.write(Event("epoch")
                      .add("epoch", epoch)
                      .add("epoch_s", epoch_s_)
                      .add("train_loss", train_loss_)
                      .add("samples", static_cast<std::int64_t>(sums[1]))
                      .add("optimizer_steps", result_.steps - first_step));
    std::printf("epoch %d of %d: training loss %.4f, %.2f s%s", epoch, settings_.epochs, train_loss_, epoch_s_,
                settings_.eval ? "" : "\n");
    std::fflush(stdout);
  }

  double step(const at::Tensor& samples, double lr) {
    const double start_s = monotonic_s();
    const StepPlace place{result_.steps + 1, world_.rank, world_.size};
    progress_.step = place.step;
    progress_.operation = "forward and backward";
    const double loss = strategy_.forward_backward([&] { return task_.loss(samples, place); });
    if (hooks_.after_backward) hooks_.after_backward(place.step, task_.model());
    progress_.operation = "optimizer step";
    strategy_.optimizer_step(lr);
    ++result_.steps;
    if (settings_.log_every > 0 && place.step % settings_.log_every == 0 && world_.rank == 0) {
      events_.write(Event("step")
                        .add("step", place.step)
                        .add("loss", loss)
                        .add("lr", lr)
                        .add("step_s", monotonic_s() - start_s)
                        .add("samples", samples.size(0) * world_.size));
    }
    return loss;
  }

  void evaluate(int epoch) {
    const double start_s = monotonic_s();
    progress_.operation = "evaluation";
    const EvaluationSums own = task_.evaluate(world_.rank, world_.size);
    std::vector<double> sums = {own.loss, own.correct, own.samples};
    strategy_.sum_over_ranks(sums);
    const double eval_s = monotonic_s() - start_s;
    result_.eval_s += eval_s;
    if (world_.rank != 0) return;
    const double loss = sums[0] / sums[2];
    const double accuracy = sums[1] / sums[2];
    events_.write(Event("eval").add("epoch", epoch).add("eval_s", eval_s).add("val_loss", loss).add("accuracy", accuracy));
    std::printf("; validation loss %.4f, accuracy %.4f, %.2f s\n", loss, accuracy, eval_s);
    std::fflush(stdout);
  }

  Task& task_;
  Strategy& strategy_;
  const Settings& settings_;
  const World& world_;
  Events& events_;
  Progress& progress_;
  const TrainingHooks& hooks_;
  std::int64_t batch_;
  TrainingResult result_;
  double train_loss_ = 0;
  double epoch_s_ = 0;
};

}  // namespace

EpochShape epoch_shape(std::int64_t samples, int world_size, std::int64_t batch_per_process) {
  const std::int64_t share = (samples + world_size - 1) / world_size;
  const std::int64_t steps = (share + batch_per_process - 1) / batch_per_process;
  return {steps, share - (steps - 1) * batch_per_process};
}

TrainingResult train(Task& task, Strategy& strategy, const Settings& settings, const World& world, Events& events,
                     Progress& progress, const TrainingHooks& hooks) {
  return Loop(task, strategy, settings, world, events, progress, hooks).run();
}

}  // namespace hpcbench::train
