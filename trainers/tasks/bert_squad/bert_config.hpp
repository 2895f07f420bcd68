#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hpcbench::train {

/// The shape of a BERT: the keys of Hugging Face's config.json with the same meaning and the same defaults.
struct BertConfig {
  std::int64_t num_hidden_layers = 12;
  std::int64_t hidden_size = 768;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 3072;
  std::int64_t vocab_size = 30522;
  std::int64_t max_position_embeddings = 512;
  std::int64_t type_vocab_size = 2;
  double layer_norm_eps = 1e-12;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  double initializer_range = 0.02;
};

/// Returns the named sizes: tiny, small, base, large (layers/hidden/heads/intermediate 2/128/2/512, 4/256/4/1024,
/// 12/768/12/3072, 24/1024/16/4096).
const std::vector<std::string>& bert_size_names();
BertConfig bert_config_of_size(const std::string& name);  // InputError for another name

/// DataError names the file and key: not a BERT, hidden_act other than gelu, position embeddings other than absolute,
/// inconsistent sizes.
BertConfig read_bert_config(const std::filesystem::path& path);

/// In the form that BertForQuestionAnswering.from_pretrained reads.
void write_bert_config(const std::filesystem::path& path, const BertConfig& config, const std::string& torch_dtype);

/// Returns do_lower_case of a tokenizer_config.json; nullopt if the file or the key is missing. DataError: broken JSON.
std::optional<bool> read_lower_case(const std::filesystem::path& path);

/// In the form that BertTokenizerFast.from_pretrained reads: without the file it would drop case and accents.
void write_tokenizer_config(const std::filesystem::path& path, const BertConfig& config, bool lower_case);

}  // namespace hpcbench::train
