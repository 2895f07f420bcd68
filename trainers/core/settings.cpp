#include "core/settings.hpp"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "core/error.hpp"
#include "core/text.hpp"

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

template <class Enum>
Enum choice_of(const std::string& text, const std::string& where, const std::vector<Enum>& choices) {
  std::vector<std::string> names;
  for (const Enum choice : choices) {
    names.emplace_back(to_string(choice));
    if (names.back() == text) return choice;
  }
  refuse_value(where, text, "one of " + join(names, ", ") + did_you_mean(text, names));
}

constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;
constexpr std::int64_t kMaxInt = 1 << 30;

using Where = const std::string&;

}  // namespace

const std::vector<SettingRow>& setting_rows() {
  static const std::vector<SettingRow> rows = {
      {"task", "NAME", "what is trained (mnist_rnn)", [](Settings& s, Where text, Where) { s.task = text; }},
      {"strategy", "NAME", "how it is spread over processes: baseline (one process, default) or ddp",
       [](Settings& s, Where text, Where) { s.strategy = text; }},
      {"data", "DIR", "folder of the data (data/mnist)", [](Settings& s, Where text, Where) { s.data = text; }},
      {"epochs", "N", "passes over the training set (1)",
       [](Settings& s, Where text, Where where) { s.epochs = static_cast<int>(integer_of(text, where, 1, kMaxInt)); }},
      {"max_steps", "N", "stop after N optimiser steps, if the epochs have not ended by then",
       [](Settings& s, Where text, Where where) { s.max_steps = integer_of(text, where, 1, kMaxCount); }},
      {"batch_size", "N", "samples of a step of one process (64)",
       [](Settings& s, Where text, Where where) { s.batch_size = integer_of(text, where, 1, kMaxInt); }},
      {"global_batch", "N", "samples of a step of all processes together, instead of --batch-size",
       [](Settings& s, Where text, Where where) { s.global_batch = integer_of(text, where, 1, kMaxInt); }},
      {"train_share", "X",
       "share of the training file that is trained on (1; 0.8 where only the test images are there, the rest validates)",
       [](Settings& s, Where text, Where where) {
         s.train_share = number_of(text, where, 0, "a number above 0 and at most 1");
         if (*s.train_share <= 0 || *s.train_share > 1) refuse_value(where, text, "a number above 0 and at most 1");
       }},
      {"optimizer", "NAME", "sgd, adadelta (default) or adamw",
       [](Settings& s, Where text, Where where) {
         s.optimizer =
             choice_of<OptimizerKind>(text, where, {OptimizerKind::sgd, OptimizerKind::adadelta, OptimizerKind::adamw});
       }},
      {"lr", "X", "learning rate of the first epoch (adadelta 0.1, sgd 0.05, adamw 0.001)",
       [](Settings& s, Where text, Where where) { s.lr = number_of(text, where, 0, "a number of at least 0"); }},
      {"gamma", "X", "factor on the learning rate after each epoch (0.7)",
       [](Settings& s, Where text, Where where) { s.gamma = number_of(text, where, 0, "a number of at least 0"); }},
      {"momentum", "X", "of sgd (0)",
       [](Settings& s, Where text, Where where) { s.momentum = number_of(text, where, 0, "a number of at least 0"); }},
      {"weight_decay", "X", "added to the gradient, for adamw decoupled (0, adamw 0.01)",
       [](Settings& s, Where text, Where where) { s.weight_decay = number_of(text, where, 0, "a number of at least 0"); }},
      {"precision", "NAME", "fp32 (default) or fp64",
       [](Settings& s, Where text, Where where) {
         s.precision = choice_of<Precision>(text, where, {Precision::fp32, Precision::fp64});
       }},
      {"shuffle", "BOOL", "a new order of the samples in each epoch (true)",
       [](Settings& s, Where text, Where where) { s.shuffle = flag_of(text, where); }},
      {"eval", "BOOL", "validate after each epoch (true)",
       [](Settings& s, Where text, Where where) { s.eval = flag_of(text, where); }},
      {"seed", "N", "of weights, order and dropout (1); the same seed gives the same result, bit for bit",
       [](Settings& s, Where text, Where where) {
         s.seed = static_cast<std::uint64_t>(integer_of(text, where, 0, INT64_MAX));
       }},
      {"hidden", "N", "mnist_rnn: size of the LSTM's state (64)",
       [](Settings& s, Where text, Where where) { s.hidden = static_cast<int>(integer_of(text, where, 1, 1 << 16)); }},
      {"batch_norm", "BOOL", "mnist_rnn: batch normalisation after the LSTM (true)",
       [](Settings& s, Where text, Where where) { s.batch_norm = flag_of(text, where); }},
      {"dropout", "X", "mnist_rnn: factor on its dropout rates 0.25 and 0.5 (1; 0 turns both off)",
       [](Settings& s, Where text, Where where) {
         s.dropout = number_of(text, where, 0, "a factor of at least 0 and below 2");
         if (s.dropout >= 2) refuse_value(where, text, "a factor of at least 0 and below 2");
       }},
      {"log_every", "N", "a step event every N steps, 0: none (50)",
       [](Settings& s, Where text, Where where) { s.log_every = integer_of(text, where, 0, kMaxCount); }},
      {"timeout", "S", "seconds after which a rank that does not answer counts as lost (120)",
       [](Settings& s, Where text, Where where) {
         s.timeout_s = number_of(text, where, 1, "a number of seconds, at least 1");
       }},
      {"bucket_cap_mb", "X", "ddp: MiB of gradients that are reduced in one call (25)",
       [](Settings& s, Where text, Where where) { s.bucket_cap_mb = number_of(text, where, 1e-6, "a number of MiB above 0"); }},
      {"bind", "BOOL", "bind each rank to its own cores where the ranks of a node fill them exactly (true)",
       [](Settings& s, Where text, Where where) { s.bind = flag_of(text, where); }},
  };
  return rows;
}

void apply_setting(Settings& settings, const std::string& name, const std::string& text, const std::string& where) {
  std::vector<std::string> names;
  for (const SettingRow& row : setting_rows()) {
    if (name == row.name) return row.set(settings, text, where);
    names.emplace_back(row.name);
  }
  throw InputError(
      concat("error: ", where, ": there is no such setting", did_you_mean(name, names), "; there are: ", join(names, ", ")));
}

void check_settings(const Settings& settings, const World& world) {
  if (settings.batch_size && settings.global_batch)
    throw InputError("error: batch_size (of one process) and global_batch (of all together) are both given: give one");
  if (settings.global_batch && *settings.global_batch % world.size != 0)
    throw InputError(concat("error: global_batch ", *settings.global_batch, " cannot be shared evenly by ", world.size,
                            " processes: choose a multiple of ", world.size));
  if (settings.momentum != 0 && settings.optimizer != OptimizerKind::sgd)
    throw InputError(concat("error: momentum is a setting of sgd, but the optimizer is ", to_string(settings.optimizer)));
}

std::int64_t batch_per_process(const Settings& settings, const World& world) {
  constexpr std::int64_t kDefaultBatch = 64;
  return settings.global_batch ? *settings.global_batch / world.size : settings.batch_size.value_or(kDefaultBatch);
}

double learning_rate(const Settings& settings) {
  if (settings.lr) return *settings.lr;
  switch (settings.optimizer) {
    case OptimizerKind::sgd:
      return 0.05;
    case OptimizerKind::adadelta:
      return 0.1;
    case OptimizerKind::adamw:
      return 0.001;
  }
  return 0;
}

double weight_decay(const Settings& settings) {
  return settings.weight_decay.value_or(settings.optimizer == OptimizerKind::adamw ? 0.01 : 0.0);
}

const char* to_string(Precision precision) { return precision == Precision::fp32 ? "fp32" : "fp64"; }

const char* to_string(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::sgd:
      return "sgd";
    case OptimizerKind::adadelta:
      return "adadelta";
    case OptimizerKind::adamw:
      return "adamw";
  }
  return "";
}

}  // namespace hpcbench::train
