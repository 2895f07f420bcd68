#include "base/error.hpp"
#include "base/settings.hpp"
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

void check_strategy(const Settings& settings) {
  const bool fsdp = settings.strategy == "fsdp";
  if (settings.devices && settings.strategy != "dp")
    throw InputError(concat("error: devices is a setting of dp, but the strategy is ", settings.strategy));
  if (!fsdp && (settings.wrap || !settings.reshard_after_forward)) {
    throw InputError(concat("error: ", settings.wrap ? "wrap" : "reshard_after_forward",
                            " is a setting of fsdp, but the strategy is ", settings.strategy));
  }
  const bool one_process = settings.strategy == "baseline" || settings.strategy == "dp";
  if (settings.exchange != ExchangeChoice::gloo && one_process) {
    throw InputError(
        concat("error: exchange is a setting of strategies of several processes, but the strategy is ", settings.strategy));
  }
  const bool alike = settings.strategy == "baseline" || settings.strategy == "ddp";
  if (settings.flavour == Flavour::reference && alike)
    throw InputError(concat("error: the strategy ", settings.strategy, " has no flavour faithful: it is the same as tuned"));
}

void check_padding(const Settings& settings) {
  const bool compacted = settings.padding == Padding::none || settings.padding == Padding::grouped;
  if (settings.task == "bert_squad" && compacted && settings.pad_in_softmax) {
    throw InputError(
        concat("error: with padding ", to_string(settings.padding),
               " padded positions cannot compete for start and end: add `--pad-in-softmax false` (another loss than "
               "Hugging Face's), or choose padding max or longest"));
  }
  if (settings.padding == Padding::grouped && settings.order == Order::batches)
    throw InputError("error: padding grouped has an order of its own: it needs order strided");
  if (settings.padding == Padding::grouped && !settings.shuffle)
    throw InputError("error: padding grouped shuffles: it contradicts shuffle false");
}

void check_precision(const Settings& settings) {
  if (settings.precision == Precision::bf16 && settings.task != "bert_squad")
    throw InputError(concat("error: ", settings.task, " has no precision bf16: choose fp32 or fp64"));
  if (settings.task == "bert_squad" && settings.dropout && *settings.dropout >= 1)
    throw InputError(concat("error: dropout: `", *settings.dropout, "` is not a rate of at least 0 and below 1"));
}

void check_keeping(const Settings& settings) {
  if (!settings.eval && settings.patience)
    throw InputError("error: patience waits for a lower validation loss, but `eval` is false");
  if (!settings.eval && keeps_best(settings))
    throw InputError("error: the best checkpoint is that of the lowest validation loss, but `eval` is false");
  if (settings.checkpoint_every > 0 && !keeps_last(settings))
    throw InputError("error: checkpoint_every needs `--checkpoint last` or `both`");
  const bool needs_folder = settings.checkpoint != Checkpoints::none || settings.tensorboard;
  if (needs_folder && !output_folder(settings)) {
    throw InputError(concat("error: ", settings.tensorboard ? "tensorboard" : "checkpoint",
                            " needs a folder: give `--output DIR` (without HPCBENCH_RUN there is none)"));
  }
}

}  // namespace

void check_settings(const Settings& settings, const World& world) {
  check_batches(settings, world);
  check_optimizer(settings);
  check_strategy(settings);
  check_padding(settings);
  check_precision(settings);
  check_keeping(settings);
}

}  // namespace hpcbench::train
