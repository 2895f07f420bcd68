#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fakes/temporary_folder.hpp"
#include "tasks/bert_squad/data/squad_features.hpp"

namespace hpcbench::train::squad_test {

inline const std::string kData = HPCBENCH_SOURCE_DIR "/data/squad2-excerpt.json";
inline const std::string kVocabulary = HPCBENCH_SOURCE_DIR "/data/bert-base-uncased-vocab.txt";
inline const std::string kGolden = HPCBENCH_SOURCE_DIR "/tests/trainers/squad/golden/";

inline void write_text(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the message of the exception that `action` throws; "" for none.
template <class Action>
std::string thrown_by(Action action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

inline nlohmann::json question_of(const std::string& id, const std::string& text, const nlohmann::json& answers) {
  return {{"id", id}, {"question", text}, {"answers", answers}};
}

inline nlohmann::json answers_of(const std::string& text, int start) { return {{{"text", text}, {"answer_start", start}}}; }

/// Returns a file of one paragraph.
inline nlohmann::json document_of(const std::string& context, const std::vector<nlohmann::json>& questions) {
  return {{"version", "1.1"}, {"data", {{{"paragraphs", {{{"context", context}, {"qas", questions}}}}}}}};
}

/// Returns a request for features of `document`, written into `folder`, with a cache there.
inline FeatureRequest request_of(const TemporaryFolder& folder, const nlohmann::json& document) {
  write_text(folder / "data.json", document.dump());
  FeatureRequest request;
  request.data = folder / "data.json";
  request.vocabulary = kVocabulary;
  request.cache_folder = folder / "cache";
  return request;
}

inline FeatureRequest excerpt_request(const TemporaryFolder& folder) {
  FeatureRequest request;
  request.data = kData;
  request.vocabulary = kVocabulary;
  request.cache_folder = folder / "cache";
  return request;
}

/// Returns all numbers of all features: question, tokens, begin of the context, start, end, ids, offsets.
inline std::vector<std::int32_t> numbers_of(const SquadFeatures& features) {
  std::vector<std::int32_t> numbers;
  for (std::int64_t i = 0; i < features.size(); ++i) {
    const Feature feature = features[i];
    for (const std::int64_t number :
         {feature.example, static_cast<std::int64_t>(feature.input_ids.size()), std::int64_t{feature.context_begin},
          std::int64_t{feature.start_position}, std::int64_t{feature.end_position}})
      numbers.push_back(static_cast<std::int32_t>(number));
    numbers.insert(numbers.end(), feature.input_ids.begin(), feature.input_ids.end());
    for (const TokenOffset& offset : feature.offsets) {
      numbers.push_back(offset.begin);
      numbers.push_back(offset.end);
    }
  }
  return numbers;
}

}  // namespace hpcbench::train::squad_test
