#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "fakes/temporary_folder.hpp"
#include "tasks/bert_squad/score/normalise.hpp"
#include "tasks/bert_squad/score/predictions.hpp"
#include "tasks/bert_squad/score/score_command.hpp"
#include "tasks/bert_squad/score/squad_score.hpp"

namespace hpcbench::train {

namespace {

using Words = std::vector<std::u32string>;

void put_text(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

/// Returns a file with one paragraph of these questions (JSON).
std::string squad_text(const std::string& questions, const std::string& version = R"("version": "v2.0", )") {
  return "{" + version + R"("data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [)" + questions + "]}]}]}";
}

/// The output of the command: exit code, standard output, standard error.
struct Said {
  int exit_code = 0;
  std::string out;
  std::string err;
};

Said run_score(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = score_command(arguments, out, err);
  return {exit_code, out.str(), err.str()};
}

Said score_texts(const std::string& data, const std::string& predictions) {
  const TemporaryFolder folder;
  put_text(folder / "data.json", data);
  put_text(folder / "predictions.json", predictions);
  Said said = run_score({"--data", folder / "data.json", "--predictions", folder / "predictions.json"});
  for (std::size_t at = said.err.find(folder / ""); at != std::string::npos; at = said.err.find(folder / ""))
    said.err.erase(at, (folder / "").size());
  return said;
}

bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("`" << text << "` does not say `" << part << "`");
  return found;
}

}  // namespace

TEST_CASE("answers are compared by their words: lower case, no ASCII punctuation, no articles") {
  CHECK(answer_words("The  Cat's\tHat.") == Words{U"cats", U"hat"});
  CHECK(answer_words("an a the A. THE!") == Words{});
  CHECK(answer_words("theory of a1 the_cat the-cat") == Words{U"theory", U"of", U"a1", U"thecat", U"thecat"});
  CHECK(answer_words("the\u2014cat \u201cthe\u201d") == Words{U"\u2014cat", U"\u201c", U"\u201d"});
  CHECK(answer_words("a\u0301 \u00e0") == Words{U"\u0301", U"\u00e0"});  // a mark is no letter to re
  CHECK(answer_words("1\u00a0000\u2003x\u200by\u001cz") == Words{U"1", U"000", U"x\u200by", U"z"});
  CHECK(answer_words("\u0130 \u039f\u0394\u039f\u03a3 \u03a3 A\u03a3.B A\u03a3.") ==
        Words{U"i\u0307", U"\u03bf\u03b4\u03bf\u03c2", U"\u03c3", U"a\u03c3b", U"a\u03c2"});
  CHECK(answer_words("x\xff") != answer_words("x\xfe"));
}

TEST_CASE("exact match and F1 of one prediction, with known values") {
  // Common: cat, sat; precision 2/3, recall 2/4: F1 = 2 (1/3) / (7/6) = 4/7.
  const AnswerScore partly = score_answer("the cat sat there", {"cat sat on mat"});
  CHECK(partly.exact == 0);
  CHECK(partly.f1 == doctest::Approx(4.0 / 7).epsilon(1e-15));
  // Words count as often as they occur on both sides: cat cat against cat dog: 1/2 and 1/2.
  CHECK(score_answer("cat cat", {"cat dog"}).f1 == 0.5);
  CHECK(score_answer("dog cat", {"cat dog"}).exact == 0);
  CHECK(score_answer("dog cat", {"cat dog"}).f1 == 1);
  CHECK(score_answer("A Cat!", {"dog", "the cat"}).exact == 1);
  CHECK(score_answer("bird", {"dog", "cat"}).f1 == 0);
}

TEST_CASE("questions without an answer, and answers of which nothing is left") {
  CHECK(score_answer("", {}).exact == 1);
  CHECK(score_answer("", {}).f1 == 1);
  CHECK(score_answer("the", {}).f1 == 1);
  CHECK(score_answer("x", {}).exact == 0);
  CHECK(score_answer("", {"x"}).f1 == 0);
  CHECK(score_answer("a", {"the"}).f1 == 1);
  // 2.0 ignores the gold answer "the"; 1.1 does not.
  CHECK(score_answer("", {"the", "cat"}).exact == 0);
  CHECK(score_answer("", {"the", "cat"}, SquadVersion::v1).exact == 1);
}

TEST_CASE("sums of several ranks add up to the score of all") {
  SquadTally tally;
  CHECK(tally.score().total == 0);
  tally.add({1, 1}, true);
  tally.add({0, 0.5}, true);
  tally.add({1, 1}, false);
  tally.of(false).total += 1;  // another rank's question, wrong
  const SquadScore score = tally.score();
  CHECK(score.total == 4);
  CHECK(score.exact == 50);
  CHECK(score.f1 == 62.5);
  CHECK(score.has_answer->f1 == 75);
  CHECK(score.no_answer->exact == 50);
}

TEST_CASE("score prints the official keys") {
  const Said said =
      score_texts(squad_text(R"({"id": "a", "answers": [{"text": "one", "answer_start": 0}], "is_impossible": false},
      {"id": "b", "answers": [], "is_impossible": true, "plausible_answers": [{"text": "no", "answer_start": 3}]})"),
                  R"({"a": "One two", "b": ""})");
  CHECK(said.exit_code == 0);
  CHECK(said.err == "");
  CHECK(said.out == R"({
  "exact": 50.0,
  "f1": 83.33333333333333,
  "total": 2,
  "HasAns_exact": 0.0,
  "HasAns_f1": 66.66666666666666,
  "HasAns_total": 1,
  "NoAns_exact": 100.0,
  "NoAns_f1": 100.0,
  "NoAns_total": 1
}
)");
}

TEST_CASE("missing predictions: ignored in 2.0, wrong in 1.1, and reported") {
  const std::string questions =
      R"({"id": "a", "answers": [{"text": "one", "answer_start": 0}]}, {"id": "b", "answers": [{"text": "two", "answer_start": 0}]})";
  const std::string predictions = R"({"a": "one", "z": "zero"})";
  const Said v2 = score_texts(squad_text(questions), predictions);
  CHECK(has(v2.out, "\"exact\": 100.0"));
  CHECK(has(v2.err, "warning: 1 question has no prediction and is left out (the first is `b`)"));
  CHECK(has(v2.err, "warning: 1 prediction is of questions that the data does not have"));
  for (const char* version : {R"("version": "1.1", )", R"("version": "v1.1", )", ""}) {
    const Said v1 = score_texts(squad_text(questions, version), predictions);
    CHECK(has(v1.out, "\"exact\": 50.0"));
    CHECK(has(v1.err, "warning: 1 question has no prediction and is counted as wrong"));
  }
  const Said none = score_texts(squad_text(questions), "{}");
  CHECK(none.exit_code == kExitData);
  CHECK(has(none.err, "error: predictions.json has no prediction of any question of data.json"));
}

TEST_CASE("of an id or a key that occurs twice the later one counts, as in Python") {
  const std::string twice =
      R"({"id": "a", "answers": [{"text": "one", "answer_start": 0}]}, {"id": "a", "answers": [{"text": "two", "answer_start": 0}]})";
  const Said said = score_texts(squad_text(twice), R"({"a": "one", "a": "two"})");
  CHECK(has(said.out, "\"exact\": 100.0"));
  CHECK(has(said.out, "\"total\": 1"));
}

TEST_CASE("score names what is wrong with its files") {
  const std::string good = squad_text(R"({"id": "a", "answers": []})");
  const auto of_data = [](const std::string& data) { return score_texts(data, R"({"a": ""})").err; };
  const auto of_predictions = [&](const std::string& predictions) { return score_texts(good, predictions).err; };
  CHECK(has(of_data("{\n \"data\": x}"), "error: data.json:2:10 is not JSON here"));
  CHECK(has(of_data(good + "}"), "is not JSON here"));
  CHECK(has(of_data(good + std::string("\0x", 2)), "is not JSON here"));
  CHECK(has(of_data(""), "data.json:1:1 is not JSON here"));
  CHECK(has(of_data("[]"), "has no list `data`"));
  CHECK(has(of_data(R"({"data": {}})"), "has no list `data`"));
  CHECK(has(of_data(R"({"data": []})"), "has no questions"));
  CHECK(has(of_data(squad_text(R"({"answers": []})")), "a question without id"));
  CHECK(has(of_data(squad_text(R"({"id": 7, "answers": []})")), "a number as id of a question"));
  CHECK(has(of_data(squad_text(R"({"id": "q7"})")), "no answers in question `q7`"));
  CHECK(has(of_data(squad_text(R"({"id": "q7", "answers": {}})")), "an object as answers in question `q7`"));
  CHECK(has(of_data(squad_text(R"({"id": "q7", "answers": ["x"]})")), "a string as answer in question `q7`"));
  CHECK(
      has(of_data(squad_text(R"({"id": "q7", "answers": [{"answer_start": 1}]})")), "an answer without text in question `q7`"));
  CHECK(has(of_data(squad_text(R"({"id": "q7", "answers": [{"text": null}]})")), "null as text of an answer in question `q7`"));
  CHECK(has(of_data(std::string(1'000'000, '[')), "nested too deeply"));
  CHECK(has(of_predictions("{\"a\": \"x\",}"), "error: predictions.json:1:11 is not JSON here"));
  CHECK(has(of_predictions(R"(["a"])"), "holds a list, not an object"));
  CHECK(has(of_predictions(R"({"a": 3})"), "a number as prediction of question `a`"));
  CHECK(has(of_predictions(R"({"a": ["x"]})"), "a list as prediction of question `a`"));
  CHECK(has(of_predictions(R"({"a": {"text": "x"}})"), "an object as prediction of question `a`"));
}

TEST_CASE("score: options") {
  CHECK(has(run_score({"--help"}).out, "hpcbench-train score --data dev-v2.0.json"));
  CHECK(run_score({}).exit_code == kExitInput);
  CHECK(has(run_score({"--data", "x"}).err, "error: --predictions is required"));
  const Said missing = run_score({"--data", "/no/such/file", "--predictions", "/no/such/file"});
  CHECK(missing.exit_code == kExitData);
  CHECK(has(missing.err, "error: cannot read /no/such/file: No such file or directory"));
  CHECK(has(run_score({"--data", "/", "--predictions", "x"}).err, "it is a folder"));
}

TEST_CASE("scores that cannot be written are no success") {
  const TemporaryFolder folder;
  put_text(folder / "data.json", squad_text(R"({"id": "a", "answers": []})"));
  put_text(folder / "predictions.json", R"({"a": ""})");
  std::ofstream full("/dev/full");
  std::ostringstream err;
  CHECK(score_command({"--data", folder / "data.json", "--predictions", folder / "predictions.json"}, full, err) == kExitData);
  CHECK(err.str().rfind("error: the scores cannot be written", 0) == 0);
}

TEST_CASE("predictions.json is written as json.dumps(indent=4) writes it, and read again") {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> texts = {{"id \"1\"", "caf\u00e9 \U0001f600\n"}, {"id2", ""}};
  write_predictions(folder / "p.json", texts);
  std::ifstream file(folder / "p.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(text == "{\n    \"id \\\"1\\\"\": \"caf\\u00e9 \\ud83d\\ude00\\n\",\n    \"id2\": \"\"\n}\n");
  const auto read = read_predictions(folder / "p.json");
  CHECK(read.size() == 2);
  CHECK(read.at("id \"1\"") == texts[0].second);
  write_predictions(folder / "p.json", {});
  CHECK(read_predictions(folder / "p.json").empty());
}

}  // namespace hpcbench::train
