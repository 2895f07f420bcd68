#include "tasks/bert_squad/bert_config.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "files/atomic_file.hpp"
#include "files/json_text.hpp"

namespace hpcbench::train {

namespace {

struct NamedSize {
  const char* name;
  std::int64_t layers, hidden, heads, intermediate;
};

constexpr NamedSize kNamedSizes[] = {
    {"tiny", 2, 128, 2, 512}, {"small", 4, 256, 4, 1024}, {"base", 12, 768, 12, 3072}, {"large", 24, 1024, 16, 4096}};

struct ConfigInteger {
  const char* key;
  std::int64_t BertConfig::*member;
  std::int64_t least;
  std::int64_t most;  // far above existing models, far below an overflow
};

constexpr ConfigInteger kConfigIntegers[] = {
    {"num_hidden_layers", &BertConfig::num_hidden_layers, 1, 10'000},
    {"hidden_size", &BertConfig::hidden_size, 1, 1'000'000},
    {"num_attention_heads", &BertConfig::num_attention_heads, 1, 1'000'000},
    {"intermediate_size", &BertConfig::intermediate_size, 1, 10'000'000},
    {"vocab_size", &BertConfig::vocab_size, 1, 100'000'000},
    {"max_position_embeddings", &BertConfig::max_position_embeddings, 1, 10'000'000},
    {"type_vocab_size", &BertConfig::type_vocab_size, 2, 1'000'000},  // a question and its context are two types
};

/// Keys whose values would change the model, and the only supported value of each.
struct FixedKey {
  const char* key;
  const char* value;  // JSON, also the default
};

constexpr FixedKey kFixedKeys[] = {{"hidden_act", "\"gelu\""},
                                   {"position_embedding_type", "\"absolute\""},
                                   {"pad_token_id", "0"},
                                   {"is_decoder", "false"},
                                   {"add_cross_attention", "false"},
                                   {"pruned_heads", "{}"}};

/// One config.json with its name for errors.
class ConfigReader {
 public:
  explicit ConfigReader(const std::filesystem::path& path) : path_(path) {
    const std::string text = read_json_text(path);
    try {
      json_ = nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
      fail_as_broken_json(path, text, error.byte);
    }
    if (!json_.is_object()) fail("is no config.json: it holds no object");
  }

  [[noreturn]] void fail(const std::string& why) const { throw DataError(concat("error: ", path_.string(), " ", why)); }

  void check_model_type() const {
    if (const auto type = json_.find("model_type"); type != json_.end()) {
      if (*type == "bert") return;
      fail(concat("is not of a BERT: model_type is ", shown(*type)));
    }
    const auto architectures = json_.find("architectures");
    const bool bert = architectures != json_.end() && architectures->is_array() && !architectures->empty() &&
                      architectures->front().is_string() &&
                      architectures->front().get_ref<const std::string&>().rfind("Bert", 0) == 0;
    if (!bert) fail("is not of a BERT: it has neither model_type \"bert\" nor architectures that begin with Bert");
  }

  void check_fixed_keys() const {
    for (const FixedKey& fixed : kFixedKeys) {
      const auto value = json_.find(fixed.key);
      if (value != json_.end() && *value != nlohmann::json::parse(fixed.value))
        fail(concat("has ", fixed.key, " ", shown(*value), "; only ", fixed.value, " is supported"));
    }
  }

  void read_integer(const ConfigInteger& row, BertConfig& config) const {
    const auto value = json_.find(row.key);
    if (value == json_.end()) return;
    const bool whole = value->is_number_integer() && !(value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX);
    const std::int64_t number = whole ? value->get<std::int64_t>() : -1;
    if (!whole || number < row.least || number > row.most)
      fail(concat("has ", row.key, " ", shown(*value), "; it must be a whole number from ", row.least, " to ", row.most));
    config.*row.member = number;
  }

  void read_real(const char* key, double& real, double least, double below) const {
    const auto value = json_.find(key);
    if (value == json_.end()) return;
    const double number = value->is_number() ? value->get<double>() : std::nan("");
    if (!(number >= least && number < below))
      fail(concat("has ", key, " ", shown(*value), "; it must be a number of at least ", least, " and below ", below));
    real = number;
  }

 private:
  static std::string shown(const nlohmann::json& value) {
    if (value.is_structured()) return value.is_array() ? "a list" : "an object";
    constexpr std::size_t kShown = 60;
    const std::string text = value.dump(-1, ' ', true);
    return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
  }

  std::filesystem::path path_;
  nlohmann::json json_;
};

}  // namespace

const std::vector<std::string>& bert_size_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> all;
    for (const NamedSize& size : kNamedSizes) all.emplace_back(size.name);
    return all;
  }();
  return kNames;
}

BertConfig bert_config_of_size(const std::string& name) {
  for (const NamedSize& size : kNamedSizes) {
    if (name != size.name) continue;
    BertConfig config;
    config.num_hidden_layers = size.layers;
    config.hidden_size = size.hidden;
    config.num_attention_heads = size.heads;
    config.intermediate_size = size.intermediate;
    return config;
  }
  throw InputError(concat("error: there is no model of size `", name, "`", did_you_mean(name, bert_size_names()),
                          ". There are: ", join(bert_size_names(), ", "), ", or a folder with config.json"));
}

BertConfig read_bert_config(const std::filesystem::path& path) {
  const ConfigReader reader(path);
  reader.check_model_type();
  reader.check_fixed_keys();
  BertConfig config;
  for (const ConfigInteger& row : kConfigIntegers) reader.read_integer(row, config);
  constexpr double kSmallest = 1e-300;  // above 0
  reader.read_real("layer_norm_eps", config.layer_norm_eps, kSmallest, 1);
  reader.read_real("hidden_dropout_prob", config.hidden_dropout_prob, 0, 1);
  reader.read_real("attention_probs_dropout_prob", config.attention_probs_dropout_prob, 0, 1);
  reader.read_real("initializer_range", config.initializer_range, 0, 1000);
  if (config.hidden_size % config.num_attention_heads != 0) {
    reader.fail(concat("has hidden_size ", config.hidden_size, ", which is no multiple of num_attention_heads ",
                       config.num_attention_heads));
  }
  return config;
}

void write_bert_config(const std::filesystem::path& path, const BertConfig& config, const std::string& torch_dtype) {
  nlohmann::ordered_json json;
  json["architectures"] = {"BertForQuestionAnswering"};
  json["model_type"] = "bert";
  for (const ConfigInteger& row : kConfigIntegers) json[row.key] = config.*row.member;
  json["layer_norm_eps"] = config.layer_norm_eps;
  json["hidden_dropout_prob"] = config.hidden_dropout_prob;
  json["attention_probs_dropout_prob"] = config.attention_probs_dropout_prob;
  json["initializer_range"] = config.initializer_range;
  json["hidden_act"] = "gelu";
  json["position_embedding_type"] = "absolute";
  json["pad_token_id"] = 0;
  json["torch_dtype"] = torch_dtype;
  write_atomically(path, json.dump(2) + "\n");
}

std::optional<bool> read_lower_case(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const std::string text = read_json_text(path);
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    const auto value = json.is_object() ? json.find("do_lower_case") : json.end();
    return value != json.end() && value->is_boolean() ? std::optional(value->get<bool>()) : std::nullopt;
  } catch (const nlohmann::json::parse_error& error) {
    fail_as_broken_json(path, text, error.byte);
  }
}

void write_tokenizer_config(const std::filesystem::path& path, const BertConfig& config, bool lower_case) {
  nlohmann::ordered_json json;
  json["tokenizer_class"] = "BertTokenizer";
  json["do_lower_case"] = lower_case;
  json["model_max_length"] = config.max_position_embeddings;
  write_atomically(path, json.dump(2) + "\n");
}

}  // namespace hpcbench::train
