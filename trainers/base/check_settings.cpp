#include "base/error.hpp"
#include "base/settings.hpp"
#include "base/task_settings.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

void check_batches(const Settings& settings, const World& world) {
  if (settings.batch_size && settings.global_batch)
    throw InputError("error: batch_size (of one process) and global_batch (of all together) are both given: give one");
  const std::int64_t parts = world.size * settings.accumulate;
  if (settings.global_batch && *settings.global_batch % parts != 0) {
    throw InputError(concat("error: global_batch ", *settings.global_batch, " cannot be shared evenly by ", world.size,
                            " processes",
                            settings.accumulate > 1 ? concat(" with ", settings.accumulate, " micro-batches") : "",
                            ": choose a multiple of ", parts));
  }
}

void check_optimizer(const Settings& settings) {
  if (settings.momentum != 0 && settings.optimizer != OptimizerKind::sgd)
    throw InputError(concat("error: momentum is a setting of sgd, but the optimizer is ", to_string(settings.optimizer)));
  if (settings.warmup_steps && settings.warmup_share)
    throw InputError("error: warmup_steps and warmup_share are both given: give one");
  if (settings.gamma != 1 && settings.schedule != Schedule::constant)
    throw InputError("error: gamma (a factor after each epoch) and the schedule linear contradict each other: give `gamma` 1");
}

void check_shard_size(const Settings& settings, const World& world) {
  const int size = *settings.shard_size;
  if (settings.strategy != "fsdp")
    throw InputError(concat("error: shard_size is a setting of fsdp, but the strategy is ", settings.strategy));
  if (settings.exchange != ExchangeChoice::gloo)
    throw InputError("error: exchange shared_memory is among all ranks: leave shard_size or exchange out");
  if (world.size % size != 0) {
    throw InputError(concat("error: ", world.size, " processes cannot be parted into groups of shard_size ", size,
                            ": choose a number that divides ", world.size, ", or leave it out to cut up among all"));
  }
}

void check_strategy(const Settings& settings, const World& world) {
  const bool fsdp = settings.strategy == "fsdp";
  if (settings.devices && settings.strategy != "dp")
    throw InputError(concat("error: devices is a setting of dp, but the strategy is ", settings.strategy));
  if (!fsdp && (settings.wrap || !settings.reshard_after_forward)) {
    throw InputError(concat("error: ", settings.wrap ? "wrap" : "reshard_after_forward",
                            " is a setting of fsdp, but the strategy is ", settings.strategy));
  }
  if (settings.shard_size) check_shard_size(settings, world);
  if (settings.gradient_compression && settings.strategy != "ddp")
    throw InputError(concat("error: gradient_compression is a setting of ddp, but the strategy is ", settings.strategy));
  if (settings.gradient_compression && settings.exchange != ExchangeChoice::gloo)
    throw InputError("error: exchange shared_memory sums gradients as they are: leave gradient_compression or exchange out");
  const bool one_process = settings.strategy == "baseline" || settings.strategy == "dp";
  if (settings.exchange != ExchangeChoice::gloo && one_process) {
    throw InputError(
        concat("error: exchange is a setting of strategies of several processes, but the strategy is ", settings.strategy));
  }
  const bool alike = settings.strategy == "baseline" || settings.strategy == "ddp";
  if (settings.flavour == Flavour::reference && alike)
    throw InputError(concat("error: the strategy ", settings.strategy, " has no flavour faithful: it is the same as tuned"));
}

void check_cuda_graphs(const Settings& settings) {
  if (!settings.cuda_graphs) return;
  if (settings.strategy != "baseline")
    throw InputError(concat("error: cuda_graphs is a setting of baseline, but the strategy is ", settings.strategy));
  if (settings.accumulate != 1) {
    throw InputError("error: cuda_graphs needs steps of one micro-batch: choose `accumulate: 1`, or leave `cuda_graphs` out");
  }
  if (settings.dropout_bits == DropoutDraw::hash)
    throw InputError("error: with cuda_graphs the GPU draws dropout: leave `dropout_bits: hash` or `cuda_graphs` out");
}

void check_task(const Settings& settings) {
  const TaskSettings* const task = find_task_settings(settings.task);
  if (!task) refuse_task(settings.task);
  task->check(settings);
  if (settings.precision == Precision::bf16 && !task->has_bf16)
    throw InputError(concat("error: ", settings.task, " has no precision bf16: choose fp32 or fp64"));
}

void check_keeping(const Settings& settings) {
  if (!settings.eval && settings.patience)
    throw InputError("error: patience waits for a lower validation loss, but `eval` is false");
  if (!settings.eval && keeps_best(settings))
    throw InputError("error: the best checkpoint is that of the lowest validation loss, but `eval` is false");
  if (settings.checkpoint_every > 0 && !keeps_last(settings))
    throw InputError("error: checkpoint_every needs `--checkpoint last` or `both`");
  if (settings.checkpoint_format != CheckpointFormat::whole && !keeps_last(settings))
    throw InputError("error: checkpoint_format sharded is that of the last state: it needs `--checkpoint last` or `both`");
  const char* const in_folder = settings.checkpoint != Checkpoints::none ? "checkpoint"
                                : settings.tensorboard                   ? "tensorboard"
                                : settings.trace                         ? "trace"
                                                                         : nullptr;
  if (in_folder && !output_folder(settings)) {
    throw InputError(concat("error: ", in_folder, " needs a folder: give `--output DIR` (without HPCBENCH_RUN there is none)"));
  }
}

}  // namespace

void check_settings(const Settings& settings, const World& world) {
  check_batches(settings, world);
  check_optimizer(settings);
  check_strategy(settings, world);
  check_cuda_graphs(settings);
  check_task(settings);
  check_keeping(settings);
}

}  // namespace hpcbench::train
