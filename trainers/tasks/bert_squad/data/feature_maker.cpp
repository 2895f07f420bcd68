#include "tasks/bert_squad/data/feature_maker.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "tasks/bert_squad/data/paragraph_encoder.hpp"
#include "tasks/bert_squad/data/squad_reader.hpp"

namespace hpcbench::train {

namespace {

constexpr std::size_t kBatchQuestions = 64;
constexpr std::size_t kBatchBytes = 1U << 20U;

struct DigestBits {
  std::size_t operator()(const ContentHash::Digest& digest) const { return digest[0]; }
};

/// Threads take batches of paragraphs in turn, encode them in parallel, and write the results in the batches' order.
class FeatureMaker {
 public:
  FeatureMaker(const FeatureRequest& request, const Vocabulary& vocabulary, int descriptor)
      : request_(request), vocabulary_(vocabulary), reader_(request.data), writer_(descriptor) {}

  void run() {
    std::vector<std::thread> threads;
    try {
      for (int i = 1; i < request_.threads; ++i) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // no more threads are available: the existing ones do the work
    }
    work();
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
  }

  void check_whole_file(const ContentHash::Digest& expected) const {
    if (is_read_ && reader_.digest() != expected)
      throw DataError(concat("error: ", request_.data.string(), " was changed while it was read"));
    if (tables_.questions.empty()) throw DataError(concat("error: ", request_.data.string(), " holds no question"));
  }

  void finish(const ContentHash::Digest& key) {
    FeatureFileFacts facts;
    facts.vocabulary_size = vocabulary_.size();
    facts.padding_id = vocabulary_.find("[PAD]").value_or(0);
    facts.has_unanswerable = has_unanswerable_ || (!has_answers_ && reader_.version().find("2.") != std::string::npos);
    writer_.finish(key, tables_, facts);
  }

 private:
  struct Batch {
    std::int64_t number = 0;
    std::vector<SquadParagraph> paragraphs;
    std::size_t count = 0;
  };

  void work() {
    std::exception_ptr failure;
    Batch batch;
    FeatureBlock block;
    try {
      ParagraphEncoder encoder({request_.data, request_.cased, request_.max_length, request_.doc_stride}, vocabulary_);
      while (take(batch, failure)) {
        block = FeatureBlock();
        for (std::size_t i = 0; i < batch.count && !failure; ++i) {
          try {
            encoder.encode(batch.paragraphs[i], block);
          } catch (...) {
            failure = std::current_exception();
          }
        }
        if (!commit(batch, block, failure)) return;
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      stop(std::current_exception());
    }
  }

  /// Returns false if nothing is left. A fault of the file is stored with its batch, so that the user sees the first one in the
  /// file.
  bool take(Batch& batch, std::exception_ptr& failure) {
    const std::lock_guard lock(reader_mutex_);
    if (is_exhausted_) return false;
    batch.number = batches_++;
    batch.count = 0;
    std::size_t questions = 0;
    std::size_t bytes = 0;
    try {
      while (questions < kBatchQuestions && bytes < kBatchBytes) {
        if (batch.count == batch.paragraphs.size()) batch.paragraphs.emplace_back();
        SquadParagraph& paragraph = batch.paragraphs[batch.count];
        if (!reader_.next(paragraph)) {
          is_exhausted_ = true;
          is_read_ = true;
          break;
        }
        ++batch.count;
        questions += paragraph.questions.size();
        bytes += paragraph.context.size();
      }
    } catch (...) {
      is_exhausted_ = true;
      batch.count = 0;
      failure = std::current_exception();
    }
    return true;
  }

  /// Waits for the batch's turn. Returns false if the work is over.
  bool commit(const Batch& batch, const FeatureBlock& block, const std::exception_ptr& failure) {
    std::unique_lock lock(mutex_);
    turned_.wait(lock, [&] { return is_stopped_ || committed_ == batch.number; });
    if (is_stopped_) return false;
    try {
      if (failure) std::rethrow_exception(failure);
      refuse_known_ids(batch);
      if (add(block)) stop(nullptr);
    } catch (...) {
      stop(std::current_exception());
    }
    ++committed_;
    turned_.notify_all();
    return !is_stopped_;
  }

  /// Requires the mutex.
  void stop(std::exception_ptr error) {
    if (!is_stopped_) error_ = std::move(error);
    is_stopped_ = true;
    turned_.notify_all();
  }

  void refuse_known_ids(const Batch& batch) {
    for (std::size_t i = 0; i < batch.count; ++i) {
      for (const SquadQuestion& question : batch.paragraphs[i].questions) {
        ContentHash hash;
        hash.add_text(question.id);
        const auto [known, is_new] = ids_.emplace(hash.digest(), question.place);
        if (!is_new) {
          throw DataError(concat("error: ", request_.data.string(), ":", question.place.line, ":", question.place.column,
                                 ": question ", question.id, " (", question.path, "): this id was there before, at ",
                                 known->second.line, ":", known->second.column));
        }
      }
    }
  }

  /// Returns true if the requested number of features is reached.
  bool add(const FeatureBlock& block) {
    const std::uint64_t aligned = (writer_.position() + 3) / 4 * 4;
    const std::array<std::byte, 4> padding{};
    writer_.append(std::span(padding).first(aligned - writer_.position()));
    writer_.append(block.bytes);
    const auto first_feature = static_cast<std::int64_t>(tables_.features.size());
    const auto first_question = static_cast<std::int32_t>(tables_.questions.size());
    const auto first_answer = static_cast<std::int64_t>(tables_.answers.size());
    const std::int64_t wanted = request_.max_features.value_or(INT64_MAX) - first_feature;
    for (QuestionRecord question : block.tables.questions) {
      if (question.first_feature >= wanted) break;
      question.features = std::min(question.features, wanted - question.first_feature);
      question.id_position += aligned;
      question.context_position += aligned;
      question.first_feature += first_feature;
      question.first_answer += first_answer;
      tables_.questions.push_back(question);
    }
    for (FeatureRecord feature : block.tables.features) {
      if (static_cast<std::int64_t>(tables_.features.size()) - first_feature == wanted) break;
      feature.position += aligned;
      feature.question += first_question;
      tables_.features.push_back(feature);
    }
    tables_.answers.insert(tables_.answers.end(), block.tables.answers.begin(), block.tables.answers.end());
    has_unanswerable_ |= block.has_unanswerable;
    has_answers_ |= block.has_answers;
    return static_cast<std::int64_t>(tables_.features.size()) - first_feature == wanted;
  }

  const FeatureRequest& request_;
  const Vocabulary& vocabulary_;

  std::mutex reader_mutex_;  // guards the following members
  SquadReader reader_;
  std::int64_t batches_ = 0;
  bool is_exhausted_ = false;
  bool is_read_ = false;

  std::mutex mutex_;  // guards the following members
  std::condition_variable turned_;
  FeatureFileWriter writer_;
  FeatureTables tables_;
  std::unordered_map<ContentHash::Digest, JsonPull::Place, DigestBits> ids_;
  std::int64_t committed_ = 0;
  bool has_unanswerable_ = false;
  bool has_answers_ = false;
  bool is_stopped_ = false;
  std::exception_ptr error_;
};

}  // namespace

void make_features(const FeatureRequest& request, const Vocabulary& vocabulary, const ContentHash::Digest& data_digest,
                   const ContentHash::Digest& key, int descriptor) {
  FeatureMaker maker(request, vocabulary, descriptor);
  maker.run();
  maker.check_whole_file(data_digest);
  maker.finish(key);
}

}  // namespace hpcbench::train
