#include "trainers/squad_fixture.hpp"

#include <fstream>
#include <sstream>

#include "tasks/bert_squad/bert.hpp"
#include "tasks/tensors.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

const std::vector<std::string> kWords = {"the",  "red",   "green", "blue",  "tall", "small", "cat",   "dog",  "bird", "fish",
                                         "sat",  "ran",   "flew",  "swam",  "on",   "under", "over",  "near", "a",    "mat",
                                         "tree", "house", "river", "stone", "who",  "what",  "where", "did",  "and",  "then"};

/// Words from a small generator, so that the file is the same everywhere.
class Words {
 public:
  const std::string& next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return kWords[(state_ >> 33) % kWords.size()];
  }
  std::string some(int count) {
    std::string text = next();
    for (int index = 1; index < count; ++index) text += " " + next();
    return text;
  }

 private:
  std::uint64_t state_ = 42;
};

nlohmann::json questions_json() {
  Words words;
  nlohmann::json paragraphs = nlohmann::json::array();
  int number = 0;
  for (int paragraph = 0; paragraph < 6; ++paragraph) {
    const std::string context = words.some(12 + 7 * paragraph);
    nlohmann::json questions = nlohmann::json::array();
    for (int question = 0; question < 4; ++question, ++number) {
      nlohmann::json answers = nlohmann::json::array();
      if (question != 3) {
        // The words number 2 + question and the next one.
        std::size_t begin = 0;
        for (int skipped = 0; skipped < 2 + question; ++skipped) begin = context.find(' ', begin) + 1;
        const std::size_t end = context.find(' ', context.find(' ', begin) + 1);
        answers.push_back({{"text", context.substr(begin, end - begin)}, {"answer_start", begin}});
      }
      questions.push_back({{"id", "q" + std::to_string(number)},
                           {"question", words.some(3 + question)},
                           {"answers", answers},
                           {"is_impossible", question == 3}});
    }
    paragraphs.push_back({{"context", context}, {"qas", questions}});
  }
  return {{"version", "v2.0"}, {"data", {{{"title", "t"}, {"paragraphs", paragraphs}}}}};
}

}  // namespace

SquadFixture::SquadFixture() {
  std::ofstream(path("questions.json")) << questions_json().dump();
  std::filesystem::create_directories(path("model"));
  std::ofstream vocabulary(path("model/vocab.txt"));
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) vocabulary << special << '\n';
  for (const std::string& word : kWords) vocabulary << word << '\n';
  BertConfig config;
  config.num_hidden_layers = 2;
  config.hidden_size = 32;
  config.num_attention_heads = 4;
  config.intermediate_size = 64;
  config.vocab_size = static_cast<std::int64_t>(kWords.size()) + 5;
  config.max_position_embeddings = 40;
  write_bert_config(path("model/config.json"), config, "float64");
  BertOptions options;
  options.type = at::kDouble;
  Bert bert(config, options, 7);
  const at::NoGradGuard no_grad;
  // Larger than BERT's initial values, so that mistakes show.
  for (NamedTensor& parameter : bert.model().parameters) parameter.tensor.mul_(parameter.tensor.dim() > 1 ? 5.0 : 1.0);
  write_tensors(path("model/model.safetensors"), bert.model().parameters, {{"format", "pt"}});
}

std::vector<std::string> SquadFixture::options(const std::vector<std::string>& more) const {
  std::vector<std::string> all = {
      "run",     "--task",      "bert_squad",  "--model", path("model"),  "--data", path("questions.json"),
      "--cache", path("cache"), "--precision", "fp64",    "--max-length", "32",     "--doc-stride",
      "8"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<std::string> SquadFixture::command(const std::vector<std::string>& more) const {
  std::vector<std::string> all = options(more);
  all.insert(all.begin(), program("hpcbench-train"));
  return all;
}

std::vector<Ended> SquadFixture::ranks_of(int size, const std::vector<std::string>& more, const std::string& mode,
                                          const std::string& dump) const {
  std::vector<std::string> worker = {program("trainer_parity_worker"), dump, mode};
  const std::vector<std::string> own = options({"--eval", "false", "--strategy", size == 1 ? "baseline" : "ddp"});
  worker.insert(worker.end(), own.begin(), own.end());
  worker.insert(worker.end(), more.begin(), more.end());
  return run_ranks(folder(), size, worker);
}

Dump SquadFixture::train(int size, const std::vector<std::string>& more, const std::string& mode) const {
  for (const Ended& ended : ranks_of(size, more, mode, path("dump"))) {
    if (ended.exit_code != 0) throw std::runtime_error(ended.err);
  }
  return read_dumps(path("dump"), size);
}

std::vector<nlohmann::json> event_lines(const std::filesystem::path& path) {
  std::vector<nlohmann::json> events;
  std::istringstream lines(slurp(path));
  for (std::string line; std::getline(lines, line);) events.push_back(nlohmann::json::parse(line));
  return events;
}

std::vector<nlohmann::json> event_lines(const std::filesystem::path& path, const std::string& event) {
  std::vector<nlohmann::json> found;
  for (const nlohmann::json& each : event_lines(path)) {
    if (each.at("event") == event) found.push_back(each);
  }
  return found;
}

}  // namespace hpcbench::train
