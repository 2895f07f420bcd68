#include "tasks/bert_squad/data/features_command.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "base/error.hpp"
#include "trainers/squad/features_fixture.hpp"

namespace hpcbench::train {

namespace {

/// Returns the output of the command.
std::string printed(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  std::FILE* file = std::fopen((folder / "out").c_str(), "w");
  const int code = features_command(arguments, file);
  std::fclose(file);
  CHECK(code == 0);
  return squad_test::read_text(folder / "out");
}

std::vector<nlohmann::json> printed_lines(const std::vector<std::string>& arguments) {
  std::istringstream text(printed(arguments));
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::string command_error(const std::vector<std::string>& arguments) {
  return squad_test::thrown_by([&] { features_command(arguments); });
}

}  // namespace

TEST_CASE("one line a feature") {
  const TemporaryFolder folder;
  const std::vector<nlohmann::json> questions = {
      squad_test::question_of("a\"b\n\u00e9", "Who?", squad_test::answers_of("Rollo", 4)),
      squad_test::question_of("c", "Last?", squad_test::answers_of(".", 15))};
  const FeatureRequest request = squad_test::request_of(folder, squad_test::document_of("The Rollo ruled.", questions));
  std::vector<std::string> arguments = {"--data",  request.data.string(),         "--vocab",   squad_test::kVocabulary,
                                        "--cache", request.cache_folder.string(), "--threads", "2"};
  const auto lines = printed_lines(arguments);
  REQUIRE(lines.size() == 2);
  // [CLS] who ? [SEP] the roll ##o ruled . [SEP]
  CHECK(lines[0] == nlohmann::json::parse(
                        R"({"example_id": "a\"b\né", "input_ids": [101, 2040, 1029, 102, 1996, 4897, 2080, 5451, 1012, 102],
    "token_type_ids": [0, 0, 0, 0, 1, 1, 1, 1, 1, 1], "offsets": [[0, 0], [0, 3], [3, 4], [0, 0], [0, 3], [4, 8], [8, 9], [10, 15], [15, 16], [0, 0]],
    "start_position": 5, "end_position": 6})"));
  CHECK(lines[1]["start_position"] == 9);  // run_qa's target where the answer begins in the last token
  CHECK(lines[1]["end_position"] == 8);

  arguments.insert(arguments.end(), {"--padding", "max", "--max-length=12", "--doc-stride", "4", "--max-features", "2"});
  const auto padded = printed_lines(arguments);
  REQUIRE(padded.size() == 2);
  CHECK(padded[0]["input_ids"] == nlohmann::json({101, 2040, 1029, 102, 1996, 4897, 2080, 5451, 1012, 102, 0, 0}));
  CHECK(padded[0]["token_type_ids"] == nlohmann::json({0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0}));
  CHECK(padded[0]["offsets"].size() == 12);
  CHECK(padded[0]["offsets"][11] == nlohmann::json({0, 0}));
  CHECK(padded[1]["start_position"] == 11);
  CHECK(padded[1]["end_position"] == 8);
}

TEST_CASE("any number of threads prints the same bytes, padded or not") {
  const TemporaryFolder folder;
  for (const char* padding : {"none", "max"}) {
    const auto with_threads = [&](const char* threads) {
      return printed({"--data", squad_test::kData, "--vocab", squad_test::kVocabulary, "--cache", folder / "cache", "--padding",
                      padding, "--threads", threads});
    };
    const std::string one = with_threads("1");
    CHECK(std::count(one.begin(), one.end(), '\n') > 700);
    CHECK(with_threads("2") == one);
    CHECK(with_threads("7") == one);
  }
}

TEST_CASE("errors on the command line are reported") {
  CHECK(command_error({"--dta", "x"}) ==
        "error: there is no option `--dta` (did you mean `--data`?)\nRead `hpcbench-train features --help`.");
  CHECK(command_error({}).starts_with("error: --data is required"));
  CHECK(command_error({"--data", "x"}).starts_with("error: --vocab is required"));
  CHECK(command_error({"--data", "x", "--vocab", "y", "--padding", "long"})
            .starts_with("error: --padding: `long` is not in {none,max}"));
  CHECK(command_error({"--data", "x", "--vocab", "y", "--max-length", "many"}).starts_with("error: "));
  CHECK(command_error({"--data", "x", "--vocab", "y", "z"}).starts_with("error: unexpected argument `z`"));
  CHECK(command_error({"--data", "/no/such", "--vocab", "y"}) == "error: /no/such cannot be read: No such file or directory");
  const std::string help = printed({"--help"});
  for (const char* part : {"--data", "--vocab", "--max-length", "--doc-stride", "--cased", "--max-features", "--threads",
                           "--padding", "--cache", "Examples:"})
    CHECK(help.find(part) != std::string::npos);
}

TEST_CASE("an output that is full is an error") {
  const TemporaryFolder folder;
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  const std::string error = squad_test::thrown_by([&] {
    features_command(
        {"--data", squad_test::kData, "--vocab", squad_test::kVocabulary, "--cache", folder / "cache", "--max-features", "3"},
        full);
  });
  CHECK(error == "error: the features cannot be written: No space left on device");
  std::fclose(full);
}

}  // namespace hpcbench::train
