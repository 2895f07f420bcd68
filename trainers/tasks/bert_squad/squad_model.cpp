#include "tasks/bert_squad/squad_model.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "tasks/bert_squad/bert_gpu_rows.hpp"
#include "tasks/bert_squad/squad_settings.hpp"
#include "tasks/bert_squad/squad_weights.hpp"

namespace hpcbench::train {

namespace {

/// cuBLAS chooses kernels, and LibTorch allocates memory, for each new number of tokens: on an H100 packed rows of BERT-large
/// took 31 ms a step, in 19 of which the GPU was busy.
constexpr std::int64_t kTokensMultiple = 64;

constexpr const char* kDefaultVocabulary = "data/bert-base-uncased-vocab.txt";

bool is_size_name(const std::string& name) {
  const std::vector<std::string>& names = bert_size_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::filesystem::path vocabulary_of(const Settings& settings, const std::optional<std::filesystem::path>& folder) {
  if (settings.own<SquadSettings>().vocab) return *settings.own<SquadSettings>().vocab;
  const std::filesystem::path path = folder ? *folder / "vocab.txt" : std::filesystem::path(kDefaultVocabulary);
  if (!std::filesystem::exists(path))
    throw InputError(concat("error: there is no vocabulary ", path.string(), ": name one with `vocab`"));
  if (!folder && settings.own<SquadSettings>().cased) {
    throw InputError(
        concat("error: ", path.string(), " is a vocabulary without case: with `cased`, name another one with `vocab`"));
  }
  return path;
}

BertOptions bert_options(const Settings& settings) {
  BertOptions options;
  options.type = settings.precision == Precision::fp64 ? at::kDouble : at::kFloat;
  options.bf16 = settings.precision == Precision::bf16;
  const bool by_operators = settings.kernels == KernelChoice::torch || settings.device == DeviceChoice::cuda;
  options.attention = settings.own<SquadSettings>().attention == AttentionKind::eager ? Attention::eager
                      : by_operators                                                  ? Attention::operators
                                                                                      : Attention::fused;
  if (settings.dropout_bits == DropoutDraw::device) options.dropout_bits = DropoutBits::device;
  if (settings.device == DeviceChoice::cuda) options.tokens_multiple = kTokensMultiple;
  options.checkpoint_activations = settings.own<SquadSettings>().checkpoint_activations;
  options.pad_in_softmax = settings.own<SquadSettings>().pad_in_softmax;
  // With and without CUDA graphs, so that both have the same bits: dropout of attention is drawn by a stretch's number.
  options.fixed_shape = settings.device == DeviceChoice::cuda && settings.own<SquadSettings>().padding == Padding::max;
  return options;
}

/// A cased vocabulary that is read without case, or the reverse, trains well enough to go unnoticed.
void add_case_note(const Settings& settings, const std::filesystem::path& folder, std::vector<Note>& notes) {
  const std::filesystem::path path = folder / "tokenizer_config.json";
  const std::optional<bool> lower_case = read_lower_case(path);
  if (!lower_case || *lower_case != settings.own<SquadSettings>().cased) return;
  notes.push_back(
      {"letter_case",
       concat(path.string(), " has do_lower_case ", *lower_case ? "true" : "false", ", but here case is ",
              settings.own<SquadSettings>().cased ? "kept (cased is true)" : "dropped (cased is false): is --cased missing?")});
}

}  // namespace

BertSource find_bert_source(const Settings& settings) {
  const std::string sizes = join(bert_size_names(), ", ");
  if (settings.own<SquadSettings>().model.empty()) {
    throw InputError(
        concat("error: bert_squad needs a `model`: a folder with config.json and model.safetensors, or for random "
               "weights one of ",
               sizes));
  }
  BertSource source;
  if (!is_size_name(settings.own<SquadSettings>().model)) {
    source.folder = settings.own<SquadSettings>().model;
    if (!std::filesystem::is_directory(*source.folder)) {
      throw InputError(concat("error: the model `", settings.own<SquadSettings>().model, "` is no folder and none of ", sizes,
                              did_you_mean(settings.own<SquadSettings>().model, bert_size_names())));
    }
  }
  source.vocabulary = vocabulary_of(settings, source.folder);
  return source;
}

KernelChoice kernels_of(const Settings& settings, const BertSource& source) {
  const BertConfig config = source.folder ? read_bert_config(*source.folder / "config.json")
                                          : bert_config_of_size(settings.own<SquadSettings>().model);
  return why_no_bert_kernels(config).empty() ? KernelChoice::own : KernelChoice::torch;
}

SquadModel make_squad_model(const Settings& settings, const BertSource& source, std::int64_t vocabulary_size) {
  SquadModel model;
  if (source.folder) {
    model.config = read_bert_config(*source.folder / "config.json");
  } else {
    model.config = bert_config_of_size(settings.own<SquadSettings>().model);
    model.config.vocab_size = vocabulary_size;
  }
  if (model.config.vocab_size != vocabulary_size) {
    throw DataError(concat("error: the vocabulary ", source.vocabulary.string(), " has ", vocabulary_size,
                           " word pieces, but the model in ", settings.own<SquadSettings>().model, " is for ",
                           model.config.vocab_size));
  }
  if (settings.own<SquadSettings>().max_length > model.config.max_position_embeddings) {
    throw InputError(concat("error: max_length is ", settings.own<SquadSettings>().max_length, ", but the model has only ",
                            model.config.max_position_embeddings, " positions"));
  }
  BertConfig config = model.config;
  if (settings.dropout) config.hidden_dropout_prob = config.attention_probs_dropout_prob = *settings.dropout;
  BertOptions options = bert_options(settings);
  if (settings.cuda_graphs && !has_attention_kernel(config, options, at::kCUDA)) {
    throw InputError(concat("error: LibTorch's attention kernels do not take heads of ",
                            config.hidden_size / config.num_attention_heads,
                            " elements, so cuda_graphs cannot be: leave `cuda_graphs` out"));
  }
  if (settings.device == DeviceChoice::cuda && settings.kernels == KernelChoice::own)
    options.gpu_program = compile_bert_kernels(config, options.bf16);
  model.bert.emplace(config, options, settings.seed);
  if (source.folder) {
    model.notes = load_bert_weights(*source.folder, model.bert->model());
    add_case_note(settings, *source.folder, model.notes);
  }
  return model;
}

}  // namespace hpcbench::train
