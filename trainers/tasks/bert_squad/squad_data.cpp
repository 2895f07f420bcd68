#include "tasks/bert_squad/squad_data.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "tasks/bert_squad/squad_settings.hpp"

namespace hpcbench::train {

namespace {

namespace fs = std::filesystem;

struct SquadFiles {
  fs::path train;
  std::optional<fs::path> validation;
};

SquadFiles files_of_folder(const fs::path& folder) {
  std::vector<SquadFiles> found;
  for (const char* version : {"v1.1", "v2.0"}) {
    const fs::path train = folder / concat("train-", version, ".json");
    const fs::path dev = folder / concat("dev-", version, ".json");
    if (fs::exists(train)) found.push_back({train, fs::exists(dev) ? std::optional(dev) : std::nullopt});
  }
  if (found.empty())
    throw DataError(concat("error: the folder ", folder.string(), " holds neither train-v1.1.json nor train-v2.0.json"));
  if (found.size() > 1) {
    throw InputError(concat("error: the folder ", folder.string(),
                            " holds SQuAD 1.1 and 2.0: name the training file as `data` and the other one as `eval_data`"));
  }
  return found.front();
}

SquadFiles squad_files(const Settings& settings) {
  const fs::path data = settings.data;
  std::error_code error;
  if (!fs::exists(data, error))
    throw DataError(concat("error: ", data.string(), " cannot be read: there is no such file or folder"));
  SquadFiles files = fs::is_directory(data) ? files_of_folder(data) : SquadFiles{data, std::nullopt};
  if (settings.own<SquadSettings>().eval_data) files.validation = *settings.own<SquadSettings>().eval_data;
  if (!settings.eval) files.validation.reset();
  return files;
}

std::string in_words(std::int64_t count, const char* what) { return concat(count, " ", what, count == 1 ? "" : "s"); }

/// Keeps the first `share` of the questions for training, and uses the rest for validation if there is no other data for it.
void split_by_questions(SquadData& data, double share, bool rest_validates) {
  const std::int64_t questions = data.train->questions();
  const std::int64_t kept =
      std::clamp<std::int64_t>(std::llround(std::floor(share * static_cast<double>(questions))), 1, questions);
  if (kept == questions) return;
  data.train_features = data.train->question(kept).first_feature;
  if (rest_validates) {
    data.validation = data.train;
    data.first_question = kept;
  }
  data.notes.push_back(
      {"train_share", concat("the first ", in_words(kept, "question"), " of ", questions, " train",
                             rest_validates ? concat(", ", questions - kept, " validate") : "", " (train_share ", share, ")")});
}

/// Stores the note about a cache that could not be kept.
void take_note(SquadData& data, const SquadFeatures& features) {
  if (const auto& note = features.note()) data.notes.push_back({"cache", *note});
}

}  // namespace

SquadData open_squad_data(const Settings& settings, const fs::path& vocabulary, int threads) {
  const SquadFiles files = squad_files(settings);
  const bool splits = settings.train_share && *settings.train_share < 1;
  FeatureRequest request;
  request.vocabulary = vocabulary;
  request.cased = settings.own<SquadSettings>().cased;
  request.max_length = settings.own<SquadSettings>().max_length;
  request.doc_stride = settings.own<SquadSettings>().doc_stride;
  request.cache_folder =
      settings.own<SquadSettings>().cache ? fs::path(*settings.own<SquadSettings>().cache) : default_cache_folder();
  request.threads = threads;
  request.data = files.train;
  if (!splits) request.max_features = settings.own<SquadSettings>().max_train_examples;

  SquadData data;
  data.train = std::make_shared<const SquadFeatures>(SquadFeatures::open(request));
  data.train_features = data.train->size();
  take_note(data, *data.train);
  const bool rest_validates = settings.eval && !files.validation;
  if (splits) split_by_questions(data, *settings.train_share, rest_validates);
  if (settings.own<SquadSettings>().max_train_examples)
    data.train_features = std::min(data.train_features, *settings.own<SquadSettings>().max_train_examples);
  if (files.validation) {
    request.data = *files.validation;
    request.max_features.reset();
    data.validation = std::make_shared<const SquadFeatures>(SquadFeatures::open(request));
    take_note(data, *data.validation);
  }
  if (settings.eval && !data.validation) {
    data.notes.push_back(
        {"no_validation", "nothing validates: give `eval_data`, a `train_share` below 1, or a folder with a dev file"});
  }
  return data;
}

}  // namespace hpcbench::train
