#include <doctest/doctest.h>
#include <zlib.h>

#include "base/error.hpp"
#include "trainers/squad/features_fixture.hpp"

namespace hpcbench::train {

namespace {

using nlohmann::json;
using squad_test::answers_of;
using squad_test::document_of;
using squad_test::question_of;

/// Returns the error for a document, without the folder's name; "" for none.
std::string squad_error(const std::string& text, int max_length = 384, int threads = 1) {
  const TemporaryFolder folder;
  FeatureRequest request = squad_test::request_of(folder, nullptr);
  squad_test::write_text(folder / "data.json", text);
  request.max_length = max_length;
  request.doc_stride = std::min(128, max_length / 3);
  request.threads = threads;
  std::string error = squad_test::thrown_by([&] { SquadFeatures::open(request); });
  const std::string name = folder.path().string() + "/";
  const std::size_t place = error.find(name);
  return place == std::string::npos ? error : error.erase(place, name.size());
}

std::string error_of_question(const json& answers, const std::string& context = "The Rollo ruled.") {
  return squad_error(document_of(context, {question_of("q7", "Who?", answers)}).dump());
}

}  // namespace

TEST_CASE("the features of the excerpt are Hugging Face's") {
  const auto golden = json::parse(squad_test::read_text(squad_test::kGolden + "features.json"));
  const TemporaryFolder folder;
  for (const auto& row : golden["rows"]) {
    FeatureRequest request = squad_test::excerpt_request(folder);
    request.cased = row["cased"];
    request.max_length = row["max_length"];
    request.doc_stride = row["doc_stride"];
    request.threads = 3;
    const SquadFeatures features = SquadFeatures::open(request);
    const auto numbers = squad_test::numbers_of(features);
    CAPTURE(row.dump());
    CHECK(features.questions() == golden["questions"].get<std::int64_t>());
    CHECK(features.size() == row["features"].get<std::int64_t>());
    CHECK(crc32_z(0, reinterpret_cast<const Bytef*>(numbers.data()), numbers.size() * 4) == row["crc32"].get<std::uint32_t>());
    CHECK(features.vocabulary_size() == 30522);
    CHECK(features.padding_id() == 0);
    CHECK(features.has_unanswerable());
  }
}

TEST_CASE("questions, contexts and answers are those of the file") {
  const TemporaryFolder folder;
  FeatureRequest request = squad_test::excerpt_request(folder);
  request.max_length = 100;
  request.doc_stride = 30;
  const SquadFeatures features = SquadFeatures::open(request);
  std::int64_t number = 0;
  std::int64_t next_feature = 0;
  const json document = json::parse(squad_test::read_text(squad_test::kData));
  for (const auto& article : document["data"]) {
    for (const auto& paragraph : article["paragraphs"]) {
      for (const auto& qa : paragraph["qas"]) {
        const Question question = features.question(number);
        CHECK(question.id == qa["id"].get<std::string>());
        CHECK(question.context == paragraph["context"].get<std::string>());
        REQUIRE(question.answers.size() == qa["answers"].size());
        for (std::size_t i = 0; i < question.answers.size(); ++i)
          CHECK(question.answers[i] == qa["answers"][i]["text"].get<std::string>());
        CHECK(question.first_feature == next_feature);
        REQUIRE(question.features > 0);
        for (std::int64_t i = 0; i < question.features; ++i) CHECK(features[next_feature++].example == number);
        ++number;
      }
    }
  }
  CHECK(number == features.questions());
  CHECK(next_feature == features.size());
  CHECK_THROWS_AS(features[next_feature], std::out_of_range);
  CHECK_THROWS_AS(features.question(-1), std::out_of_range);
}

TEST_CASE("a feature with known tokens") {
  const TemporaryFolder folder;
  const auto document = document_of("The caf\u00e9 is open.", {question_of("a", " \u3000 What?", answers_of("caf\u00e9", 4))});
  const SquadFeatures features = SquadFeatures::open(squad_test::request_of(folder, document));
  REQUIRE(features.size() == 1);
  const Feature feature = features[0];
  // [CLS] what ? [SEP] the cafe is open . [SEP]
  CHECK(std::vector(feature.input_ids.begin(), feature.input_ids.end()) ==
        std::vector<std::int32_t>{101, 2054, 1029, 102, 1996, 7668, 2003, 2330, 1012, 102});
  CHECK(std::vector(feature.offsets.begin(), feature.offsets.end()) ==
        std::vector<TokenOffset>{{0, 0}, {0, 4}, {4, 5}, {0, 0}, {0, 3}, {4, 8}, {9, 11}, {12, 16}, {16, 17}, {0, 0}});
  CHECK(feature.context_begin == 4);
  CHECK(feature.start_position == 5);
  CHECK(feature.end_position == 5);
  CHECK(!features.has_unanswerable());
}

TEST_CASE("what is unanswerable points to [CLS]") {
  const TemporaryFolder folder;
  auto impossible = question_of("a", "x?", answers_of("b", 2));
  impossible["is_impossible"] = true;
  impossible["plausible_answers"] = answers_of("nowhere", 99);
  const auto document =
      document_of("a b", {impossible, question_of("b", "y?", json::array()), {{"id", "c"}, {"question", "z?"}}});
  const SquadFeatures features = SquadFeatures::open(squad_test::request_of(folder, document));
  CHECK(features.has_unanswerable());
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(features.question(i).answers.empty());
    CHECK(features[i].start_position == 0);
    CHECK(features[i].end_position == 0);
  }
}

TEST_CASE("a context of which nothing is left has a feature all the same, without an answer") {
  const TemporaryFolder folder;
  const auto document = document_of(" \u200b\ufeff\n", {question_of("a", "x?", json::array())});
  const SquadFeatures features = SquadFeatures::open(squad_test::request_of(folder, document));
  REQUIRE(features.size() == 1);  // [CLS] x ? [SEP] [SEP]
  CHECK(std::vector(features[0].input_ids.begin(), features[0].input_ids.end()) ==
        std::vector<std::int32_t>{101, 1060, 1029, 102, 102});
  CHECK(features[0].context_begin == 4);
  CHECK(
      error_of_question(answers_of("\ufeff", 1), "\u200b\ufeff").ends_with("its context holds no token, so no answer either"));
}

TEST_CASE("files without any answers can be read") {
  const TemporaryFolder folder;
  auto document = document_of("a b", {{{"id", "c"}, {"question", "z?"}}});
  CHECK(!SquadFeatures::open(squad_test::request_of(folder, document)).has_unanswerable());
  document["version"] = "v2.0";
  CHECK(SquadFeatures::open(squad_test::request_of(folder, document)).has_unanswerable());
}

TEST_CASE("only the first features, and their questions") {
  const TemporaryFolder folder;
  FeatureRequest request = squad_test::excerpt_request(folder);
  request.max_length = 64;
  request.doc_stride = 16;
  const auto all = squad_test::numbers_of(SquadFeatures::open(request));
  request.max_features = 7;
  request.threads = 2;
  const SquadFeatures features = SquadFeatures::open(request);
  const auto first = squad_test::numbers_of(features);
  CHECK(features.size() == 7);
  CHECK(std::equal(first.begin(), first.end(), all.begin()));
  CHECK(features.questions() == features[6].example + 1);
  const Question last = features.question(features.questions() - 1);
  CHECK(last.first_feature + last.features == 7);
}

TEST_CASE("answers that are not at their stated position are refused with the question") {
  const std::string place = "error: data.json:1:";
  const std::string question = ": question q7 (data[0].paragraphs[0].qas[0]): ";
  const auto check = [&](const json& answers, const std::string& what, const std::string& context = "The Rollo ruled.") {
    const std::string error = error_of_question(answers, context);
    CAPTURE(error);
    CHECK(error.starts_with(place));
    CHECK(error.ends_with(question + what));
  };
  check(answers_of("Rollo", 5), "the answer `Rollo` does not stand at character 5 of its context, where `ollo ruled.` stands");
  check(answers_of("Rollo", 99), "the answer `Rollo` begins at character 99, but its context has 16");
  check(answers_of("Rollo", -4), "the answer `Rollo` begins at character -4, but its context has 16");
  check(answers_of("ruled. And", 10),
        "the answer `ruled. And` does not stand at character 10 of its context, where `ruled.` stands");
  check(answers_of("", 3), "an answer is empty; a question without an answer has an empty array \"answers\"");
  check({{{"text", "The"}, {"answer_start", 0}}, {{"text", "x"}, {"answer_start", 0}}},
        "the answer `x` does not stand at character 0 of its context, where `The Rollo ruled.` stands");
  CHECK(error_of_question(answers_of("b", 2), "\u00e9\U0001f600b").empty());  // code points, not bytes
}

TEST_CASE("documents that are no SQuAD are refused with their place") {
  const auto paragraph = [](const std::string& inside) { return R"({"data": [{"paragraphs": [{)" + inside + "}]}]}"; };
  const std::pair<std::string, const char*> cases[] = {
      {"{}", "error: data.json:1:1: a SQuAD file has an array \"data\", this one has none"},
      {"[]", "error: data.json:1:1: expected an object, found an array"},
      {R"({"data": []})", "error: data.json holds no question"},
      {R"({"data": [{}]})", "error: data.json:1:11: this article has no \"paragraphs\" (in data[0])"},
      {"{\"data\":\n[{\"paragraphs\": [{}]}]}",
       "error: data.json:2:18: this paragraph has no \"context\" (in data[0].paragraphs[0])"},
      {paragraph(R"("context": "x")"), "error: data.json:1:27: this paragraph has no \"qas\" (in data[0].paragraphs[0])"},
      {paragraph(R"("context": 3)"),
       "error: data.json:1:39: expected a string, found a number (in data[0].paragraphs[0].context)"},
      {paragraph(R"("context": "x", "context": "y")"),
       "error: data.json:1:55: the key \"context\" is there twice (in data[0].paragraphs[0].context)"},
      {paragraph(R"("context": "x", "qas": [{"id": "a"}])"),
       "error: data.json:1:52: this question has no \"question\" (in data[0].paragraphs[0].qas[0])"},
      {paragraph(R"("context": "x", "qas": [{"id": 5}])"),
       "error: data.json:1:59: expected a string, found a number (in data[0].paragraphs[0].qas[0].id)"},
      {paragraph(R"("context": "x", "qas": [{"answers": [{"text": "x", "answer_start": 0.5}]}])"),
       "error: data.json:1:95: expected an integer, found 0.5 (in data[0].paragraphs[0].qas[0].answers[0].answer_start)"},
      {paragraph(R"("context": "", "qas": [])"), "error: data.json:1:27: the context of data[0].paragraphs[0] is empty"},
  };
  for (const auto& [text, error] : cases) {
    CAPTURE(text);
    CHECK(squad_error(text) == error);
  }
  const std::string whole = squad_test::read_text(squad_test::kData);
  CHECK(squad_error(whole.substr(0, whole.size() / 2)).starts_with("error: data.json:1:"));
  CHECK(squad_error(document_of("x", {question_of("a", "?", json::array()), question_of("a", "?", json::array())}).dump())
            .find("question a (data[0].paragraphs[0].qas[1]): this id was there before, at 1:") != std::string::npos);
}

TEST_CASE("a question that leaves no room is refused by name, if its context needs the room") {
  const auto document = [](const std::string& context) {
    return document_of(context, {question_of("long", "a b c d e f g h", json::array())}).dump();
  };
  CHECK(squad_error(document("x y z x y z x y z"), 12)
            .ends_with(
                "question long (data[0].paragraphs[0].qas[0]): the question has 8 tokens: of a window of 12 it leaves 1 to the "
                "context, which must be more than the 4 that windows share (doc_stride); a larger max_length helps"));
  CHECK(squad_error(document("x"), 12).empty());
}

TEST_CASE("of several faults the first in the file is told, whatever the number of threads") {
  json paragraphs = json::array();
  for (int i = 0; i < 400; ++i)
    paragraphs.push_back({{"context", "The Rollo ruled."},
                          {"qas", {question_of("q" + std::to_string(i), "Who?", answers_of("Rollo", i >= 200 ? 3 : 4))}}});
  const std::string text = json{{"data", {{{"paragraphs", paragraphs}}}}}.dump();
  for (const int threads : {1, 4}) {
    CHECK(squad_error(text, 384, threads).find("question q200 ") != std::string::npos);
    CHECK(squad_error(text.substr(0, text.size() - 3), 384, threads).find("question q200 ") != std::string::npos);
  }
}

TEST_CASE("lengths that cannot be are refused") {
  const TemporaryFolder folder;
  const auto error_with = [&](auto change) {
    FeatureRequest request = squad_test::excerpt_request(folder);
    change(request);
    return squad_test::thrown_by([&] { SquadFeatures::open(request); });
  };
  CHECK(error_with([](auto& r) { r.max_length = 3; }).starts_with("error: max_length is 3; it must be from 4 to "));
  CHECK(error_with([](auto& r) { r.doc_stride = 384; }).starts_with("error: doc_stride is 384, "));
  CHECK(error_with([](auto& r) { r.doc_stride = -1; }).starts_with("error: doc_stride is -1, "));
  CHECK(error_with([](auto& r) { r.max_features = 0; }).starts_with("error: at most 0 features"));
  CHECK(error_with([](auto& r) { r.threads = 0; }).starts_with("error: features in 0 threads"));
  CHECK(error_with([](auto& r) { r.data = "/no/such.json"; }) ==
        "error: /no/such.json cannot be read: No such file or directory");
}

}  // namespace hpcbench::train
