#include "tasks/bert_squad/squad_task.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "files/atomic_file.hpp"
#include "tasks/bert_squad/bert.hpp"
#include "tasks/bert_squad/bert_numbers.hpp"
#include "tasks/bert_squad/data/features_command.hpp"
#include "tasks/bert_squad/score/answers.hpp"
#include "tasks/bert_squad/score/predictions.hpp"
#include "tasks/bert_squad/score/score_command.hpp"
#include "tasks/bert_squad/score/squad_score.hpp"
#include "tasks/bert_squad/squad_batch.hpp"
#include "tasks/bert_squad/squad_data.hpp"
#include "tasks/bert_squad/squad_model.hpp"
#include "tasks/bert_squad/squad_settings.hpp"
#include "tasks/tensors.hpp"

namespace hpcbench::train {

namespace {

using PredictionsJson = nlohmann::json;

/// The model's output for one feature.
struct OwnLogits {
  std::vector<float> start;
  std::vector<float> end;
};

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || text.empty()) throw DataError(concat("error: ", path.string(), " can no longer be read"));
  return text;
}

class BertSquad final : public Task {
 public:
  explicit BertSquad(const Settings& settings) : settings_(settings), source_(find_bert_source(settings)) {
    layout_ = {settings.own<SquadSettings>().padding, settings.own<SquadSettings>().max_length,
               settings.own<SquadSettings>().pad_in_softmax};
    const bool is_open = settings_.device == DeviceChoice::cuda && settings_.kernels == KernelChoice::automatic;
    if (is_open) settings_.kernels = kernels_of(settings_, source_);
  }

  KernelChoice choose_kernels() const override { return settings_.kernels; }

  void load() override {
    data_ = open_squad_data(settings_, source_.vocabulary, at::get_num_threads());
    notes_ = data_.notes;
    SquadModel model = make_squad_model(settings_, source_, data_.train->vocabulary_size());
    notes_.insert(notes_.end(), model.notes.begin(), model.notes.end());
    config_ = model.config;
    bert_ = std::move(model.bert);
    for (std::int64_t number = 0; number < data_.train_features; ++number)
      lengths_.push_back(static_cast<std::int32_t>((*data_.train)[number].input_ids.size()));
  }

  /// Batches are moved to the model's device one by one: the tokens of a step are small.
  void place(at::Device place) override { move_model(bert_->model(), place); }

  std::vector<Note> notes() const override { return notes_; }

  std::vector<std::pair<std::string, std::string>> facts() const override {
    const BertConfig& config = bert_->config();
    return {{"layers", setting_text(config.num_hidden_layers)},
            {"hidden_size", setting_text(config.hidden_size)},
            {"heads", setting_text(config.num_attention_heads)},
            {"intermediate_size", setting_text(config.intermediate_size)},
            {"vocabulary_size", setting_text(config.vocab_size)},
            {"hidden_dropout", setting_text(config.hidden_dropout_prob)},
            {"attention_dropout", setting_text(config.attention_probs_dropout_prob)}};
  }

  std::int64_t train_samples() const override { return data_.train_features; }

  std::int64_t validation_samples() const override {
    if (!data_.validation || data_.first_question >= data_.validation->questions()) return 0;
    return data_.validation->size() - data_.validation->question(data_.first_question).first_feature;
  }

  Model& model() override { return bert_->model(); }

  std::unique_ptr<Trainee> another(at::Device place) const override {
    auto task = std::make_unique<BertSquad>(settings_);
    task->load();
    task->place(place);
    return task;
  }

  at::Tensor loss(const at::Tensor& samples, const StepPlace& place) override {
    BertBatch batch = training_batch(samples, place);
    const DropoutKey key{settings_.seed, place.step};
    bert_->bring(batch, &key);
    return bert_->loss(batch, bert_->logits(batch, &key)).mean;
  }

  std::optional<LossInputs> loss_inputs(const at::Tensor& samples, const StepPlace& place) override {
    auto batch = std::make_shared<BertBatch>(training_batch(samples, place));
    const DropoutKey key{settings_.seed, place.step};
    const std::shared_ptr<BertNumbers> numbers = bert_->prepare(*batch, &key);
    batch->there = numbers;
    return LossInputs{numbers->packed, numbers->shape, [this, batch, numbers, key](const at::Tensor& there) {
                        numbers->lie_in(there);
                        return bert_->loss(*batch, bert_->logits(*batch, &key)).mean;
                      }};
  }

  std::optional<std::int64_t> tokens(const at::Tensor& samples) const override {
    std::int64_t sum = 0;
    const auto* const numbers = samples.const_data_ptr<std::int64_t>();
    for (std::int64_t index = 0; index < samples.size(0); ++index) sum += lengths_[static_cast<std::size_t>(numbers[index])];
    return sum;
  }

  std::vector<std::int32_t> grouping_lengths() const override {
    return settings_.own<SquadSettings>().padding == Padding::grouped ? lengths_ : std::vector<std::int32_t>();
  }

  std::vector<Measure> evaluate(std::int64_t first, std::int64_t stride) override {
    const at::NoGradGuard no_grad;
    Measure loss{"val_loss"};
    SquadTally tally;
    predictions_ = PredictionsJson::array();
    constexpr std::int64_t kQuestions = 16;  // answered together
    const std::int64_t questions = data_.validation->questions();
    for (std::int64_t next = data_.first_question + first; next < questions; next += kQuestions * stride) {
      std::vector<Question> chunk;
      for (std::int64_t number = next; number < std::min(questions, next + kQuestions * stride); number += stride)
        chunk.push_back(data_.validation->question(number));
      answer(chunk, logits_of(chunk, loss), tally);
    }
    Measure exact{"em"};
    Measure f1{"f1"};
    for (const bool has_answer : {true, false}) {
      const SquadTally::Sums& sums = tally.of(has_answer);
      exact.sum += 100 * sums.exact;
      f1.sum += 100 * sums.f1;
      exact.weight += static_cast<double>(sums.total);
    }
    f1.weight = exact.weight;
    return {loss, exact, f1};
  }

  std::string own_predictions() const override {
    return predictions_.dump(-1, ' ', true, PredictionsJson::error_handler_t::replace);
  }

  void write_predictions(const std::filesystem::path& folder, const std::vector<std::string>& of_ranks) const override {
    std::vector<PredictionsJson> parts;
    std::size_t count = 0;
    for (const std::string& text : of_ranks) count += parts.emplace_back(PredictionsJson::parse(text)).size();
    // Rank r of W answered the questions r, r + W ...: interleaving restores the file's order.
    std::vector<std::pair<std::string, std::string>> all;
    for (std::size_t number = 0; number < count; ++number) {
      const PredictionsJson& each = parts[number % parts.size()][number / parts.size()];
      all.emplace_back(each[0].get<std::string>(), each[1].get<std::string>());
    }
    hpcbench::train::write_predictions(folder / "predictions.json", all);
  }

  void write_model(const std::filesystem::path& folder, const std::vector<NamedTensor>& state) const override {
    write_bert_config(folder / "config.json", config_, settings_.precision == Precision::fp64 ? "float64" : "float32");
    write_tokenizer_config(folder / "tokenizer_config.json", config_, !settings_.own<SquadSettings>().cased);
    write_atomically(folder / "vocab.txt", read_text(source_.vocabulary));
    Task::write_model(folder, state);
  }

 private:
  BertBatch training_batch(const at::Tensor& samples, const StepPlace& place) const {
    const auto count = static_cast<std::size_t>(samples.size(0));
    return make_bert_batch(*data_.train, {samples.const_data_ptr<std::int64_t>(), count}, layout_, place.first_position,
                           place.stride);
  }

  /// Runs the features of some questions through the model, batch by batch, and adds their loss.
  std::vector<OwnLogits> logits_of(const std::vector<Question>& questions, Measure& loss) {
    std::vector<std::int64_t> numbers;
    for (const Question& question : questions) {
      for (std::int64_t index = 0; index < question.features; ++index) numbers.push_back(question.first_feature + index);
    }
    std::vector<OwnLogits> all;
    const auto size = static_cast<std::size_t>(settings_.batch_size.value_or(8));
    for (std::size_t begin = 0; begin < numbers.size(); begin += size) {
      const std::span<const std::int64_t> part(numbers.data() + begin, std::min(size, numbers.size() - begin));
      const BertBatch batch = make_bert_batch(*data_.validation, part, layout_, 0, 1);
      const at::Tensor logits = bert_->logits(batch, nullptr);
      const BertLoss sums = bert_->loss(batch, logits);
      loss.sum += (sums.start_sum.item<double>() + sums.end_sum.item<double>()) / 2;
      loss.weight += static_cast<double>(part.size());
      take_logits(batch, logits, all);
    }
    return all;
  }

  /// Takes the logits of every row: if padding competes, as in Hugging Face's model, including those of its padding.
  void take_logits(const BertBatch& batch, const at::Tensor& logits, std::vector<OwnLogits>& all) const {
    const at::Tensor values = logits.to(at::kCPU, at::kFloat).t().contiguous();  // starts, then ends
    const float* const starts = values.const_data_ptr<float>();
    const float* const ends = starts + logits.size(0);
    for (std::size_t row = 0; row < batch.lengths.size(); ++row) {
      const std::int64_t begin = batch.row_begin[row];
      const std::int64_t end =
          settings_.own<SquadSettings>().pad_in_softmax ? batch.row_begin[row + 1] : begin + batch.lengths[row];
      all.push_back({{starts + begin, starts + end}, {ends + begin, ends + end}});
    }
  }

  void answer(const std::vector<Question>& questions, const std::vector<OwnLogits>& logits, SquadTally& tally) {
    AnswerOptions options;
    options.may_be_empty = data_.validation->has_unanswerable();
    const SquadVersion version = options.may_be_empty ? SquadVersion::v2 : SquadVersion::v1;
    std::size_t next = 0;
    for (const Question& question : questions) {
      std::vector<FeatureLogits> features;
      for (std::int64_t index = 0; index < question.features; ++index, ++next)
        features.push_back({(*data_.validation)[question.first_feature + index], logits[next].start, logits[next].end});
      const std::string text = best_answer(question, features, options);
      tally.add(score_answer(text, question.answers, version), !question.answers.empty());
      predictions_.push_back({std::string(question.id), text});
    }
  }

  Settings settings_;
  BertSource source_;
  RowLayout layout_;
  SquadData data_;
  std::vector<Note> notes_;
  BertConfig config_;
  std::optional<Bert> bert_;
  std::vector<std::int32_t> lengths_;  // of the training features
  PredictionsJson predictions_ = PredictionsJson::array();
};

}  // namespace

std::unique_ptr<Task> make_bert_squad(const Settings& settings) { return std::make_unique<BertSquad>(settings); }

std::vector<TaskCommand> bert_squad_commands() {
  const auto features = [](const std::vector<std::string>& arguments) { return features_command(arguments); };
  const auto score = [](const std::vector<std::string>& arguments) { return score_command(arguments, std::cout, std::cerr); };
  return {{"features", "print the features of a SQuAD file (`hpcbench-train features --help`)", features},
          {"score", "score predictions (`hpcbench-train score --help`)", score}};
}

}  // namespace hpcbench::train
