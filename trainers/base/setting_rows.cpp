#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

[[noreturn]] void refuse_value(const std::string& where, const std::string& text, const std::string& needed) {
  throw InputError(concat("error: ", where, ": `", text, "` is not ", needed));
}

std::int64_t integer_of(const std::string& text, const std::string& where, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most)
    refuse_value(where, text, concat("a whole number of at least ", least));
  return number;
}

double number_of(const std::string& text, const std::string& where, double least, const std::string& needed) {
  errno = 0;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !std::isfinite(number) || number < least) refuse_value(where, text, needed);
  return number;
}

bool flag_of(const std::string& text, const std::string& where) {
  if (text == "true") return true;
  if (text != "false") refuse_value(where, text, "true or false");
  return false;
}

constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;
constexpr std::int64_t kMaxInt = 1 << 30;
constexpr const char* kAtLeastZero = "a number of at least 0";

template <class T>
struct ValueOf {
  using Type = T;
};
template <class T>
struct ValueOf<std::optional<T>> {
  using Type = T;
};

template <class T>
SettingValue said(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(to_string(value));
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<std::int64_t>(value);
  } else {
    return value;
  }
}

template <class T>
SettingValue said(const std::optional<T>& value) {
  return value ? said(*value) : SettingValue();
}

using Set = std::function<void(Settings&, const std::string& text, const std::string& where)>;

/// How a member of Settings is set, and said.
struct Access {
  Set set;
  std::function<SettingValue(const Settings&)> get;
};

template <class M>
Access text_of(M Settings::*member) {
  return {[member](Settings& s, const std::string& text, const std::string&) { s.*member = text; },
          [member](const Settings& s) { return said(s.*member); }};
}

template <class M>
Access count_of(M Settings::*member, std::int64_t least, std::int64_t most = kMaxCount) {
  return {[=](Settings& s, const std::string& text, const std::string& where) {
            s.*member = static_cast<typename ValueOf<M>::Type>(integer_of(text, where, least, most));
          },
          [member](const Settings& s) { return said(s.*member); }};
}

template <class M>
Access real_of(M Settings::*member, double least, const std::string& needed) {
  return {[=](Settings& s, const std::string& text, const std::string& where) {
            s.*member = number_of(text, where, least, needed);
          },
          [member](const Settings& s) { return said(s.*member); }};
}

/// A number in (0, 1].
Access share_of(std::optional<double> Settings::*member) {
  constexpr const char* kNeeded = "a number above 0 and at most 1";
  return {[=](Settings& s, const std::string& text, const std::string& where) {
            const double share = number_of(text, where, 0, kNeeded);
            if (share <= 0 || share > 1) refuse_value(where, text, kNeeded);
            s.*member = share;
          },
          [member](const Settings& s) { return said(s.*member); }};
}

template <class M>
Access switch_of(M Settings::*member) {
  return {[member](Settings& s, const std::string& text, const std::string& where) { s.*member = flag_of(text, where); },
          [member](const Settings& s) { return said(s.*member); }};
}

template <class M>
Access choice_of(M Settings::*member, std::vector<typename ValueOf<M>::Type> choices) {
  return {[=](Settings& s, const std::string& text, const std::string& where) {
            std::vector<std::string> names;
            for (const auto choice : choices) {
              names.emplace_back(to_string(choice));
              if (names.back() == text) {
                s.*member = choice;
                return;
              }
            }
            refuse_value(where, text, "one of " + join(names, ", ") + did_you_mean(text, names));
          },
          [member](const Settings& s) { return said(s.*member); }};
}

constexpr const char* kEveryTask = "";
constexpr const char* kMnist = "mnist_rnn";
constexpr const char* kBert = "bert_squad";

std::vector<SettingRow> make_rows() {
  std::vector<SettingRow> rows;
  const char* task = kEveryTask;
  bool decides = true;
  const auto add = [&](const char* name, const char* value_name, const char* help, Access access) {
    rows.push_back({name, value_name, help, task, decides, std::move(access.set), std::move(access.get)});
  };
  add("task", "NAME", "what is trained: mnist_rnn (default) or bert_squad", text_of(&Settings::task));
  add("strategy", "NAME", "how it is spread: baseline (one process, default), dp, ddp, fsdp, zero1, zero2, deepspeed (= zero2)",
      text_of(&Settings::strategy));
  add("data", "PATH", "mnist_rnn: folder (data/mnist); bert_squad: SQuAD file, or folder with train-v*.json and dev-v*.json",
      text_of(&Settings::data));
  add("epochs", "N", "passes over the training set (1; with --max-steps alone as many as it takes)",
      count_of(&Settings::epochs, 1, kMaxInt));
  add("max_steps", "N", "stop after N optimiser steps, if the epochs have not ended by then",
      count_of(&Settings::max_steps, 1));
  add("batch_size", "N", "samples of a micro-batch of one process (mnist_rnn 64, bert_squad 8)",
      count_of(&Settings::batch_size, 1, kMaxInt));
  add("global_batch", "N", "samples of an optimiser step of all processes together, instead of --batch-size",
      count_of(&Settings::global_batch, 1, kMaxInt));
  add("accumulate", "N", "micro-batches of one optimiser step (1)", count_of(&Settings::accumulate, 1, kMaxInt));
  add("accumulate_by", "NAME",
      "an epoch's incomplete last step divides by its real or by the nominal number of micro-batches (real)",
      choice_of(&Settings::accumulate_by, {AccumulateBy::real, AccumulateBy::nominal}));
  add("loss_average", "NAME",
      "rank_mean: mean of the micro-batches' and ranks' means (default); global: every sample weighs the same",
      choice_of(&Settings::loss_average, {LossAverage::rank_mean, LossAverage::global}));
  add("train_share", "X", "share of the training file that is trained on, the first so many; see docs/trainer.md",
      share_of(&Settings::train_share));
  add("shuffle", "BOOL", "a new order of the samples in each epoch (true); false: the file's order",
      switch_of(&Settings::shuffle));
  add("order", "NAME",
      "rank r of W takes of a global batch the samples r, r + W ... (strided, default) or its r-th block (batches)",
      choice_of(&Settings::order, {Order::strided, Order::batches}));
  add("optimizer", "NAME", "sgd, adadelta (mnist_rnn) or adamw (bert_squad)",
      choice_of(&Settings::optimizer, {OptimizerKind::sgd, OptimizerKind::adadelta, OptimizerKind::adamw}));
  Access lr = real_of(&Settings::lr, 0, kAtLeastZero);
  lr.get = [](const Settings& s) { return SettingValue(learning_rate(s)); };
  add("lr", "X", "learning rate (mnist_rnn: adadelta 0.1, sgd 0.05, adamw 0.001; bert_squad 5e-5)", lr);
  add("momentum", "X", "of sgd (0)", real_of(&Settings::momentum, 0, kAtLeastZero));
  Access decay = real_of(&Settings::weight_decay, 0, kAtLeastZero);
  decay.get = [](const Settings& s) { return SettingValue(weight_decay(s)); };
  add("weight_decay", "X", "added to the gradient, for adamw decoupled (0, adamw 0.01)", decay);
  add("decay_bias", "BOOL", "weight decay also on biases and normalisations (true)", switch_of(&Settings::decay_bias));
  add("schedule", "NAME", "learning rate: constant (default), or linear: down to 0 at the last step",
      choice_of(&Settings::schedule, {Schedule::constant, Schedule::linear}));
  add("warmup_steps", "N", "first the learning rate rises from 0 over N steps (0)", count_of(&Settings::warmup_steps, 0));
  add("warmup_share", "X", "the same as a share of all steps, instead of --warmup-steps", share_of(&Settings::warmup_share));
  add("clip", "X", "greatest global norm of the gradient, 0: none (0)", real_of(&Settings::clip, 0, kAtLeastZero));
  add("precision", "NAME", "fp32 (default), fp64, or for bert_squad bf16: linears in bfloat16, parameters in fp32",
      choice_of(&Settings::precision, {Precision::fp32, Precision::bf16, Precision::fp64}));
  add("seed", "N", "of weights, order and dropout (1); the same seed gives the same result, bit for bit",
      count_of(&Settings::seed, 0, INT64_MAX));
  Access dropout = real_of(&Settings::dropout, 0, "a number of at least 0 and below 2");
  dropout.set = [set = dropout.set](Settings& s, const std::string& text, const std::string& where) {
    set(s, text, where);
    if (*s.dropout >= 2) refuse_value(where, text, "a number of at least 0 and below 2");
  };
  add("dropout", "X", "mnist_rnn: factor on its rates 0.25 and 0.5 (1); bert_squad: the rate (config.json's); 0: off", dropout);

  task = kMnist;
  add("gamma", "X", "mnist_rnn: factor on the learning rate after each epoch (0.7)",
      real_of(&Settings::gamma, 0, kAtLeastZero));
  add("hidden", "N", "mnist_rnn: size of the LSTM's state (64)", count_of(&Settings::hidden, 1, 1 << 16));
  add("batch_norm", "BOOL", "mnist_rnn: batch normalisation after the LSTM (true)", switch_of(&Settings::batch_norm));

  task = kBert;
  add("preset", "NAME", "defaults as those of huggingface (its Trainer) or lightning; explicit settings win (none)",
      choice_of(&Settings::preset, {Preset::none, Preset::huggingface, Preset::lightning}));
  add("model", "DIR|SIZE", "folder with config.json and model.safetensors, or random weights: tiny, small, base or large",
      text_of(&Settings::model));
  add("vocab", "FILE", "word pieces (MODEL/vocab.txt; for a size data/bert-base-uncased-vocab.txt)", text_of(&Settings::vocab));
  add("cased", "BOOL", "keep case and accents (false)", switch_of(&Settings::cased));
  add("eval_data", "FILE", "SQuAD file that validates", text_of(&Settings::eval_data));
  add("max_length", "N", "tokens of a feature, with the special ones (384)", count_of(&Settings::max_length, 8, 1 << 16));
  add("doc_stride", "N", "tokens that neighbouring windows of a context share (128)",
      count_of(&Settings::doc_stride, 0, 1 << 16));
  add("max_train_examples", "N", "train on the first N features only", count_of(&Settings::max_train_examples, 1));
  add("padding", "NAME",
      "to max_length (max, default), to the longest of a batch, the same grouped by length, or none (packed)",
      choice_of(&Settings::padding, {Padding::max, Padding::longest, Padding::grouped, Padding::none}));
  add("pad_in_softmax", "BOOL", "padding competes for start and end, as at Hugging Face (true); not with grouped or none",
      switch_of(&Settings::pad_in_softmax));
  add("attention", "NAME", "fused (default), or eager: plain operators, to compare with",
      choice_of(&Settings::attention, {AttentionKind::fused, AttentionKind::eager}));
  add("dropout_bits", "NAME", "drawn by a hash, the same whatever the ranks, or by a GPU's generator (device; hash on CPUs)",
      choice_of(&Settings::dropout_bits, {DropoutDraw::hash, DropoutDraw::device}));
  add("checkpoint_activations", "BOOL", "keep only the layers' inputs and compute the rest again (false)",
      switch_of(&Settings::checkpoint_activations));
  decides = false;
  add("cache", "DIR", "of prepared features ($XDG_CACHE_HOME/hpcbench)", text_of(&Settings::cache));

  task = kEveryTask;
  decides = true;
  add("eval", "BOOL", "validate after each epoch (true)", switch_of(&Settings::eval));
  add("patience", "N", "stop after N validations without a lower loss", count_of(&Settings::patience, 1, kMaxInt));
  add("bucket_cap_mb", "X", "ddp, zero: MiB of gradients that are reduced in one call (25)",
      real_of(&Settings::bucket_cap_mb, 1e-6, "a number of MiB above 0"));
  add("exchange", "NAME",
      "ddp, zero, fsdp on CPUs: tensors go through gloo, or shared_memory of the one host of all ranks (gloo)",
      choice_of(&Settings::exchange, {ExchangeChoice::gloo, ExchangeChoice::shared_memory}));
  add("flavour", "NAME", "of a strategy: tuned, or faithful to what Lightning's does by default (tuned)",
      choice_of(&Settings::flavour, {Flavour::tuned, Flavour::reference}));
  add("wrap", "NAME", "fsdp: layers or none, one unit for all (layers; none if faithful)",
      choice_of(&Settings::wrap, {FsdpWrap::layers, FsdpWrap::none}));
  add("reshard_after_forward", "BOOL", "fsdp: free a unit between forward and backward (true)",
      switch_of(&Settings::reshard_after_forward));
  add("tf32", "BOOL", "cuda: matrix products and cuDNN with TF32, or neither (as LibTorch has them: cuDNN only)",
      switch_of(&Settings::tf32));
  add("devices", "N", "dp: devices of the process (the run's gpus, else 1)", count_of(&Settings::devices, 1, 1024));
  decides = false;
  add("checkpoint", "NAME", "keep the last state (to resume), the best weights by validation loss, both or none (none)",
      choice_of(&Settings::checkpoint, {Checkpoints::none, Checkpoints::last, Checkpoints::best, Checkpoints::both}));
  add("checkpoint_every", "N", "also every N steps, not only after each epoch (0: not)",
      count_of(&Settings::checkpoint_every, 0));
  add("resume", "DIR", "go on from DIR/last.safetensors, bit for bit as if there had been no interruption",
      text_of(&Settings::resume));
  add("save", "DIR", "write the trained model there", text_of(&Settings::save));
  add("output", "DIR", "where checkpoint/, tensorboard/ and predictions.json go (the folder of run.json)",
      text_of(&Settings::output));
  add("events", "FILE", "rank 0's events; rank r's go to FILE.r (events.jsonl in the folder of run.json)",
      text_of(&Settings::events));
  add("tensorboard", "BOOL", "losses and learning rate for TensorBoard, too (false)", switch_of(&Settings::tensorboard));
  add("log_every", "N", "a step event every N steps, 0: none (mnist_rnn 50, bert_squad 1)", count_of(&Settings::log_every, 0));
  add("timeout", "S", "seconds after which a rank that does not answer counts as lost (120)",
      real_of(&Settings::timeout_s, 1, "a number of seconds, at least 1"));
  add("device", "NAME", "cpu, cuda (a GPU for each process), or auto: cuda where LibTorch has it and a GPU is visible (auto)",
      choice_of(&Settings::device, {DeviceChoice::automatic, DeviceChoice::cpu, DeviceChoice::cuda}));
  add("kernels", "NAME", "own (for CPUs), torch: LibTorch's operators, or auto: own on a CPU, torch on a GPU (auto)",
      choice_of(&Settings::kernels, {KernelChoice::automatic, KernelChoice::own, KernelChoice::torch}));
  add("bind", "BOOL", "bind each rank to its own cores where the ranks of a node fill them exactly (true)",
      switch_of(&Settings::bind));
  return rows;
}

}  // namespace

const std::vector<SettingRow>& setting_rows() {
  static const std::vector<SettingRow> kRows = make_rows();
  return kRows;
}

}  // namespace hpcbench::train
