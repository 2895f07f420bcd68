#include "tasks/bert_squad/bert_config.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "fakes/temporary_folder.hpp"

namespace hpcbench::train {

namespace {

/// Returns the error of reading this config.json, "" if there is none.
std::string config_error(const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder / "config.json", std::ios::binary) << text;
  try {
    read_bert_config(folder / "config.json");
  } catch (const DataError& error) {
    CHECK(std::string(error.what()).rfind("error: " + folder / "config.json", 0) == 0);
    return error.what();
  }
  return "";
}

std::string bert_with(const std::string& fields) { return R"({"model_type": "bert", )" + fields + "}"; }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("config.json: the sizes that have a name") {
  CHECK(bert_size_names() == std::vector<std::string>{"tiny", "small", "base", "large"});
  const BertConfig small = bert_config_of_size("small");
  CHECK(small.num_hidden_layers == 4);
  CHECK(small.hidden_size == 256);
  CHECK(small.num_attention_heads == 4);
  CHECK(small.intermediate_size == 1024);
  CHECK(small.vocab_size == 30522);
  CHECK_THROWS_WITH_AS(bert_config_of_size("smal"), doctest::Contains("did you mean `small`?"), InputError);
}

TEST_CASE("config.json: what is written is read again") {
  const TemporaryFolder folder;
  BertConfig config = bert_config_of_size("tiny");
  config.vocab_size = 99;
  config.max_position_embeddings = 77;
  config.hidden_dropout_prob = 0.3;
  config.layer_norm_eps = 1e-7;
  write_bert_config(folder / "config.json", config, "float64");
  const BertConfig read = read_bert_config(folder / "config.json");
  CHECK(read.num_hidden_layers == 2);
  CHECK(read.hidden_size == 128);
  CHECK(read.num_attention_heads == 2);
  CHECK(read.intermediate_size == 512);
  CHECK(read.vocab_size == 99);
  CHECK(read.max_position_embeddings == 77);
  CHECK(read.hidden_dropout_prob == 0.3);
  CHECK(read.attention_probs_dropout_prob == 0.1);
  CHECK(read.layer_norm_eps == 1e-7);
  CHECK(read.initializer_range == 0.02);
  std::ifstream file(folder / "config.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(contains(text, R"("architectures": [
    "BertForQuestionAnswering"
  ])"));
  CHECK(contains(text, R"("torch_dtype": "float64")"));
}

TEST_CASE("config.json: keys that are absent have Hugging Face's defaults, unknown ones mean nothing") {
  CHECK(config_error(R"({"model_type": "bert", "gradient_checkpointing": false, "use_cache": true})") == "");
  CHECK(config_error(R"({"architectures": ["BertForMaskedLM"], "hidden_act": "gelu", "pruned_heads": {}})") == "");
}

TEST_CASE("config.json: what is no BERT that is understood is refused with its key") {
  CHECK(contains(config_error("{\"model_type\": "), "config.json:1:16 is not JSON here"));
  CHECK(contains(config_error(std::string("{}\0", 3)), "config.json:1:3 is not JSON here"));
  CHECK(contains(config_error("[]"), "no object"));
  CHECK(contains(config_error("{}"), "neither model_type"));
  CHECK(contains(config_error(R"({"architectures": [3]})"), "neither model_type"));
  CHECK(contains(config_error(R"({"model_type": "roberta"})"), "model_type is \"roberta\""));
  CHECK(contains(config_error(R"({"model_type": ["bert"]})"), "model_type is a list"));
  CHECK(contains(config_error(bert_with(R"("hidden_act": "gelu_new")")), "hidden_act \"gelu_new\"; only \"gelu\""));
  CHECK(contains(config_error(bert_with(R"("position_embedding_type": "relative_key")")), "position_embedding_type"));
  CHECK(contains(config_error(bert_with(R"("pad_token_id": 1)")), "pad_token_id 1"));
  CHECK(contains(config_error(bert_with(R"("is_decoder": true)")), "is_decoder true"));
  CHECK(contains(config_error(bert_with(R"("hidden_size": 770)")), "no multiple of num_attention_heads 12"));
  for (const char* value : {"0", "-1", "1.5", "\"768\"", "null", "18446744073709551615", "9223372036854775807", "1e30", "[]"})
    CHECK(contains(config_error(bert_with("\"hidden_size\": " + std::string(value))), "it must be a whole number from 1 to"));
  CHECK(contains(config_error(bert_with(R"("type_vocab_size": 1)")), "from 2 to"));
  for (const char* value : {"-0.1", "1", "\"0.1\"", "null", "1e300"})
    CHECK(contains(config_error(bert_with("\"hidden_dropout_prob\": " + std::string(value))), "at least 0 and below 1"));
  CHECK(contains(config_error(bert_with(R"("layer_norm_eps": 0)")), "layer_norm_eps 0"));
}

TEST_CASE("config.json: no file") {
  CHECK_THROWS_WITH_AS(read_bert_config("/no/such/config.json"), doctest::Contains("/no/such/config.json"), DataError);
}

}  // namespace hpcbench::train
