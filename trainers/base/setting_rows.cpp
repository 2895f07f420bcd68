#include <functional>
#include <utility>

#include "base/setting_access.hpp"
#include "base/settings.hpp"
#include "base/task_settings.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

/// Adds the amount and order of training.
void add_amounts(RowList& rows) {
  rows.add("task", "NAME", "what is trained", text_of(&Settings::task));
  rows.add("strategy", "NAME",
           "how it is spread: baseline (one process, default), dp, ddp, fsdp, zero1, zero2, deepspeed (= zero2)",
           text_of(&Settings::strategy));
  rows.add("data", "PATH", "file or folder to train on", text_of(&Settings::data)).is_path = true;
  rows.add("epochs", "N", "passes over the training set (1; with --max-steps alone as many as it takes)",
           count_of(&Settings::epochs, 1, kMaxInt));
  rows.add("max_steps", "N", "stop after N optimiser steps, if the epochs have not ended by then",
           count_of(&Settings::max_steps, 1));
  rows.add("batch_size", "N", "samples of a micro-batch of one process (64)", count_of(&Settings::batch_size, 1, kMaxInt));
  rows.add("global_batch", "N", "samples of an optimiser step of all processes together, instead of --batch-size",
           count_of(&Settings::global_batch, 1, kMaxInt));
  rows.add("accumulate", "N", "micro-batches of one optimiser step (1)", count_of(&Settings::accumulate, 1, kMaxInt));
  rows.add("accumulate_by", "NAME",
           "an epoch's incomplete last step divides by its real or by the nominal number of micro-batches (real)",
           choice_of(&Settings::accumulate_by, {AccumulateBy::real, AccumulateBy::nominal}));
  rows.add("loss_average", "NAME",
           "rank_mean: mean of the micro-batches' and ranks' means (default); global: every sample weighs the same",
           choice_of(&Settings::loss_average, {LossAverage::rank_mean, LossAverage::global}));
  rows.add("train_share", "X", "share of the training file that is trained on, the first so many; see docs/trainer.md",
           share_of(&Settings::train_share));
  rows.add("shuffle", "BOOL", "a new order of the samples in each epoch (true); false: the file's order",
           switch_of(&Settings::shuffle));
  rows.add("order", "NAME",
           "rank r of W takes of a global batch the samples r, r + W ... (strided, default) or its r-th block (batches)",
           choice_of(&Settings::order, {Order::strided, Order::batches}));
}

/// Adds the settings of parameter updates.
void add_updates(RowList& rows) {
  rows.add("optimizer", "NAME", "sgd, adadelta or adamw",
           choice_of(&Settings::optimizer, {OptimizerKind::sgd, OptimizerKind::adadelta, OptimizerKind::adamw}));
  Access lr = real_of(&Settings::lr, 0, kAtLeastZero);
  lr.get = [](const Settings& s) { return SettingValue(learning_rate(s)); };
  rows.add("lr", "X", "learning rate (adadelta 0.1, sgd 0.05, adamw 0.001)", lr);
  rows.add("momentum", "X", "of sgd (0)", real_of(&Settings::momentum, 0, kAtLeastZero));
  Access decay = real_of(&Settings::weight_decay, 0, kAtLeastZero);
  decay.get = [](const Settings& s) { return SettingValue(weight_decay(s)); };
  rows.add("weight_decay", "X", "added to the gradient, for adamw decoupled (0, adamw 0.01)", decay);
  rows.add("decay_bias", "BOOL", "weight decay also on biases and normalisations (true)", switch_of(&Settings::decay_bias));
  rows.add("schedule", "NAME", "learning rate: constant (default), or linear: down to 0 at the last step",
           choice_of(&Settings::schedule, {Schedule::constant, Schedule::linear}));
  rows.add("warmup_steps", "N", "first the learning rate rises from 0 over N steps (0)", count_of(&Settings::warmup_steps, 0));
  rows.add("warmup_share", "X", "the same as a share of all steps, instead of --warmup-steps",
           share_of(&Settings::warmup_share));
  rows.add("clip", "X", "greatest global norm of the gradient, 0: none (0)", real_of(&Settings::clip, 0, kAtLeastZero));
  rows.add("precision", "NAME", "fp32 (default) or fp64",
           choice_of(&Settings::precision, {Precision::fp32, Precision::bf16, Precision::fp64}));
  rows.add("seed", "N", "of weights, order and dropout (1); the same seed gives the same result, bit for bit",
           count_of(&Settings::seed, 0, INT64_MAX));
  Access dropout = real_of(&Settings::dropout, 0, "a number of at least 0 and below 2");
  dropout.set = [set = dropout.set](Settings& s, const std::string& text, const std::string& where) {
    set(s, text, where);
    if (*s.dropout >= 2) refuse_value(where, text, "a number of at least 0 and below 2");
  };
  rows.add("dropout", "X", "of activations, 0: off", dropout);
}

/// Adds evaluation, and the strategies' own settings.
void add_ways(RowList& rows) {
  rows.add("eval", "BOOL", "validate after each epoch (true)", switch_of(&Settings::eval));
  rows.add("patience", "N", "stop after N validations without a lower loss", count_of(&Settings::patience, 1, kMaxInt));
  rows.add("bucket_cap_mb", "X", "ddp, zero: MiB of gradients that are reduced in one call (25)",
           real_of(&Settings::bucket_cap_mb, 1e-6, "a number of MiB above 0"));
  rows.add("exchange", "NAME",
           "ddp, zero, fsdp on CPUs: tensors go through gloo, or shared_memory of the one host of all ranks (gloo)",
           choice_of(&Settings::exchange, {ExchangeChoice::gloo, ExchangeChoice::shared_memory}));
  rows.add("gradient_compression", "NAME",
           "ddp: sum gradients as bf16 or fp16, which are half as many bytes (as they are: fp32, fp64)",
           choice_of(&Settings::gradient_compression, {GradientCompression::bf16, GradientCompression::fp16}));
  rows.add("flavour", "NAME", "of a strategy: tuned, or faithful to what Lightning's does by default (tuned)",
           choice_of(&Settings::flavour, {Flavour::tuned, Flavour::reference}));
  rows.add("wrap", "NAME", "fsdp: layers or none, one unit for all (layers; none if faithful)",
           choice_of(&Settings::wrap, {FsdpWrap::layers, FsdpWrap::none}));
  rows.add("reshard_after_forward", "BOOL", "fsdp: free a unit between forward and backward (true)",
           switch_of(&Settings::reshard_after_forward));
  rows.add("shard_size", "N", "fsdp: cut up among N ranks each, with replicas between (all ranks)",
           count_of(&Settings::shard_size, 2, kMaxInt));
  rows.add("tf32", "BOOL", "cuda: matrix products and cuDNN with TF32, or neither (as LibTorch has them: cuDNN only)",
           switch_of(&Settings::tf32));
  rows.add("deterministic", "BOOL", "cuda: operators that give the same bits each time, or the fastest ones (true)",
           switch_of(&Settings::deterministic));
  rows.add("devices", "N", "dp: devices of the process (the run's gpus, else 1)", count_of(&Settings::devices, 1, 1024));
}

Access steps_of(std::optional<StepRange> Settings::*member) {
  return {
      [member](Settings& s, const std::string& text, const std::string& where) {
        constexpr const char* kNeeded = "a step, or the first and the last of several: 5 or 5-7";
        const std::size_t dash = text.find('-');
        const auto number = [&](const std::string& digits) {
          const bool is_one =
              !digits.empty() && digits.size() < 13 && digits.find_first_not_of("0123456789") == std::string::npos;
          if (!is_one) refuse_value(where, text, kNeeded);
          return std::stoll(digits);
        };
        const StepRange steps{number(text.substr(0, dash)), number(dash == std::string::npos ? text : text.substr(dash + 1))};
        if (steps.first < 1 || steps.last < steps.first) refuse_value(where, text, kNeeded);
        s.*member = steps;
      },
      [member](const Settings& s) { return s.*member ? SettingValue(to_string(*(s.*member))) : SettingValue(); }};
}

/// Adds output and the use of the machine: nothing here changes what is computed.
void add_surroundings(RowList& rows) {
  const auto add = [&](const char* name, const char* value_name, const char* help, Access access) {
    rows.add(name, value_name, help, std::move(access)).decides = false;
  };
  add("checkpoint", "NAME", "keep the last state (to resume), the best weights by validation loss, both or none (none)",
      choice_of(&Settings::checkpoint, {Checkpoints::none, Checkpoints::last, Checkpoints::best, Checkpoints::both}));
  add("checkpoint_every", "N", "also every N steps, not only after each epoch (0: not)",
      count_of(&Settings::checkpoint_every, 0));
  add("checkpoint_format", "NAME",
      "of the last state: whole, one file; or sharded: each rank writes what it holds, nothing is gathered (whole)",
      choice_of(&Settings::checkpoint_format, {CheckpointFormat::whole, CheckpointFormat::sharded}));
  add("resume", "DIR", "continue from DIR/last.safetensors, bit for bit as if there had been no interruption",
      text_of(&Settings::resume));
  add("save", "DIR", "write the trained model there", text_of(&Settings::save));
  add("output", "DIR", "where checkpoint/, tensorboard/, trace/ and predictions.json go (the folder of run.json)",
      text_of(&Settings::output));
  add("events", "FILE", "rank 0's events; rank r's go to FILE.r (events.jsonl in the folder of run.json)",
      text_of(&Settings::events));
  add("tensorboard", "BOOL", "losses and learning rate for TensorBoard, too (false)", switch_of(&Settings::tensorboard));
  add("log_every", "N", "a step event every N steps, 0: none (50)", count_of(&Settings::log_every, 0));
  add("trace", "STEPS",
      "operators, and a GPU's kernels and copies, of steps such as 5-7: OUTPUT/trace/rank-R.json, for Perfetto (none)",
      steps_of(&Settings::trace));
  add("timeout", "S", "seconds after which a rank that does not answer counts as lost (120)",
      real_of(&Settings::timeout_s, 1, "a number of seconds, at least 1"));
  add("device", "NAME", "cpu, cuda (a GPU for each process), or auto: cuda where LibTorch has it and a GPU is visible (auto)",
      choice_of(&Settings::device, {DeviceChoice::automatic, DeviceChoice::cpu, DeviceChoice::cuda}));
  add("kernels", "NAME", "own, torch: LibTorch's operators, or auto: own where there are any (auto)",
      choice_of(&Settings::kernels, {KernelChoice::automatic, KernelChoice::own, KernelChoice::torch}));
  add("bind", "BOOL", "bind each rank to its own cores where the ranks of a node fill them exactly (true)",
      switch_of(&Settings::bind));
  add("cuda_graphs", "BOOL", "baseline on cuda: launch forward and backward of steps of one shape as one CUDA graph (false)",
      switch_of(&Settings::cuda_graphs));
}

/// Returns the help of a setting with the notes of tasks; for `task`, with the existing tasks.
std::string help_with_tasks(const SettingRow& row) {
  std::string help = row.help;
  for (const TaskSettings& task : task_settings()) {
    const bool is_first = &task == &task_settings().front();
    if (row.name == "task") help += concat(is_first ? ": " : " or ", task.name, is_first ? " (default)" : "");
    for (const auto& [name, note] : task.notes) {
      if (row.name == name) help += concat("; ", task.name, ": ", note);
    }
  }
  return help;
}

void append(std::vector<SettingRow>& rows, RowList list) {
  for (SettingRow& row : list.take()) {
    row.help = help_with_tasks(row);
    rows.push_back(std::move(row));
  }
}

std::vector<SettingRow> make_rows() {
  std::vector<SettingRow> rows;
  RowList before;
  add_amounts(before);
  add_updates(before);
  append(rows, std::move(before));
  for (const TaskSettings& task : task_settings()) {
    for (SettingRow& row : task.rows()) {
      row.task = task.name;
      rows.push_back(std::move(row));
    }
  }
  RowList behind;
  add_ways(behind);
  add_surroundings(behind);
  append(rows, std::move(behind));
  return rows;
}

}  // namespace

const std::vector<SettingRow>& setting_rows() {
  static const std::vector<SettingRow> kRows = make_rows();
  return kRows;
}

}  // namespace hpcbench::train
