#include "tasks/bert_squad/squad_settings.hpp"

#include "base/error.hpp"
#include "base/setting_access.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

std::vector<SettingRow> squad_rows() {
  RowList rows;
  rows.add("preset", "NAME", "defaults as those of huggingface (its Trainer) or lightning; explicit settings win (none)",
           choice_of(&SquadSettings::preset, {Preset::none, Preset::huggingface, Preset::lightning}));
  rows.add("model", "DIR|SIZE", "folder with config.json and model.safetensors, or random weights: tiny, small, base or large",
           text_of(&SquadSettings::model))
      .is_path = true;
  rows.add("vocab", "FILE", "word pieces (MODEL/vocab.txt; for a size data/bert-base-uncased-vocab.txt)",
           text_of(&SquadSettings::vocab))
      .is_path = true;
  rows.add("cased", "BOOL", "keep case and accents (false)", switch_of(&SquadSettings::cased));
  rows.add("eval_data", "FILE", "SQuAD file that validates", text_of(&SquadSettings::eval_data)).is_path = true;
  rows.add("max_length", "N", "tokens of a feature, with the special ones (384)",
           count_of(&SquadSettings::max_length, 8, 1 << 16));
  rows.add("doc_stride", "N", "tokens that neighbouring windows of a context share (128)",
           count_of(&SquadSettings::doc_stride, 0, 1 << 16));
  rows.add("max_train_examples", "N", "train on the first N features only", count_of(&SquadSettings::max_train_examples, 1));
  rows.add("padding", "NAME",
           "to max_length (max, default), to the longest of a batch, the same grouped by length, or none (packed)",
           choice_of(&SquadSettings::padding, {Padding::max, Padding::longest, Padding::grouped, Padding::none}));
  rows.add("pad_in_softmax", "BOOL", "padding competes for start and end, as at Hugging Face (true); not with grouped or none",
           switch_of(&SquadSettings::pad_in_softmax));
  rows.add("attention", "NAME", "fused (default), or eager: plain operators, to compare with",
           choice_of(&SquadSettings::attention, {AttentionKind::fused, AttentionKind::eager}));
  rows.add("dropout_bits", "NAME",
           "drawn by a hash, the same whatever the ranks, or by a GPU's generator (device; hash on CPUs)",
           choice_of(&Settings::dropout_bits, {DropoutDraw::hash, DropoutDraw::device}));
  rows.add("checkpoint_activations", "BOOL", "keep only the layers' inputs and compute the rest again (false)",
           switch_of(&SquadSettings::checkpoint_activations));
  rows.add("cache", "DIR", "of prepared features ($XDG_CACHE_HOME/hpcbench)", text_of(&SquadSettings::cache)).decides = false;
  return rows.take();
}

void set_squad_defaults(Settings& s) {
  s.data = "data/squad2-excerpt.json";
  s.optimizer = OptimizerKind::adamw;
  s.weight_decay = 0.01;
  s.lr = 5e-5;
  s.gamma = 1;
  s.batch_size = 8;
  s.log_every = 1;
}

/// Applies the defaults of Hugging Face's Trainer, and of PyTorch Lightning with torch.optim.AdamW (docs/bert-squad.md).
void apply_squad_preset(Settings& s) {
  const Preset preset = s.own<SquadSettings>().preset;
  if (preset == Preset::huggingface) {
    s.schedule = Schedule::linear;
    s.weight_decay = 0;
    s.decay_bias = false;
    s.clip = 1;
    s.order = Order::batches;
  } else if (preset == Preset::lightning) {
    s.accumulate_by = AccumulateBy::nominal;
  }
}

void check_squad(const Settings& settings) {
  const auto& own = settings.own<SquadSettings>();
  const bool compacted = own.padding == Padding::none || own.padding == Padding::grouped;
  if (compacted && own.pad_in_softmax) {
    throw InputError(
        concat("error: with padding ", to_string(own.padding),
               " padded positions cannot compete for start and end: add `--pad-in-softmax false` (another loss than "
               "Hugging Face's), or choose padding max or longest"));
  }
  if (own.padding == Padding::grouped && settings.order == Order::batches)
    throw InputError("error: padding grouped has an order of its own: it needs order strided");
  if (own.padding == Padding::grouped && !settings.shuffle)
    throw InputError("error: padding grouped shuffles: it contradicts shuffle false");
  const bool is_fixed = own.padding == Padding::max && own.pad_in_softmax && own.attention == AttentionKind::fused &&
                        settings.precision != Precision::fp64;
  if (settings.cuda_graphs && !is_fixed) {
    throw InputError(
        "error: cuda_graphs needs steps of one shape by the GPU's own attention: padding max, pad_in_softmax true, attention "
        "fused and precision fp32 or bf16. Choose these, or leave `cuda_graphs` out");
  }
  if (settings.dropout && *settings.dropout >= 1)
    throw InputError(concat("error: dropout: `", *settings.dropout, "` is not a rate of at least 0 and below 1"));
}

void check_squad_with_torch(const Settings& settings) {
  if (settings.own<SquadSettings>().checkpoint_activations) {
    throw InputError(
        "error: checkpoint_activations needs the trainer's own kernels for CPUs: with `kernels: torch`, and on a GPU, choose "
        "`checkpoint_activations: false` and a smaller batch_size with `accumulate`, or `device: cpu`");
  }
}

/// Kernels for the operations between a layer's products; LibTorch computes the rest.
bool has_squad_gpu_kernels(const Settings& settings) {
  return settings.precision != Precision::fp64 && settings.own<SquadSettings>().attention != AttentionKind::eager;
}

/// Returns whether the settings avoid the plain form of attention, which draws by the hash.
bool can_squad_draw_on_device(const Settings& settings) {
  return settings.own<SquadSettings>().attention != AttentionKind::eager;
}

}  // namespace

const char* to_string(Padding value) { return name_at(value, {"max", "longest", "grouped", "none"}); }
const char* to_string(AttentionKind value) { return name_at(value, {"fused", "eager"}); }
const char* to_string(Preset value) { return name_at(value, {"none", "huggingface", "lightning"}); }

TaskSettings squad_settings() {
  TaskSettings task{"bert_squad", squad_rows};
  task.notes = {{"data", "SQuAD file, or folder with train-v*.json and dev-v*.json"},
                {"batch_size", "8"},
                {"optimizer", "adamw"},
                {"lr", "5e-5"},
                {"precision", "bf16, too: linears in bfloat16, parameters in fp32"},
                {"dropout", "the rate (config.json's)"},
                {"log_every", "1"}};
  task.examples = {"--task bert_squad --model tiny --data data/squad2-excerpt.json --train-share 0.9 --max-steps 20",
                   "--task bert_squad --model DIR --data SQUAD --preset huggingface --epochs 2 --save OUT"};
  task.set_defaults = set_squad_defaults;
  task.preset = "preset";
  task.apply_preset = apply_squad_preset;
  task.has_bf16 = true;
  task.check = check_squad;
  task.has_gpu_kernels = has_squad_gpu_kernels;
  task.check_torch_kernels = check_squad_with_torch;
  task.can_draw_on_device = can_squad_draw_on_device;
  return task;
}

}  // namespace hpcbench::train
