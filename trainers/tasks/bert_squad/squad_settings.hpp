#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/task_settings.hpp"

namespace hpcbench::train {

enum class Padding { max, longest, grouped, none };
enum class AttentionKind { fused, eager };
enum class Preset { none, huggingface, lightning };

const char* to_string(Padding value);
const char* to_string(AttentionKind value);
const char* to_string(Preset value);

/// The settings of bert_squad alone.
struct SquadSettings {
  Preset preset = Preset::none;
  std::string model;
  std::optional<std::string> vocab;
  bool cased = false;
  std::optional<std::string> eval_data;
  std::optional<std::string> cache;
  int max_length = 384;
  int doc_stride = 128;
  std::optional<std::int64_t> max_train_examples;
  Padding padding = Padding::max;
  bool pad_in_softmax = true;
  AttentionKind attention = AttentionKind::fused;
  bool checkpoint_activations = false;
};

TaskSettings squad_settings();

}  // namespace hpcbench::train
