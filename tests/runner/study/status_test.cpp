#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "fakes/temporary_folder.hpp"
#include "study/index.hpp"
#include "study/status_view.hpp"

using namespace hpcbench;

namespace {

Study study_of(const TemporaryFolder& folder, const std::string& more) {
  write_file(folder / "digits.yaml", "experiment: digits\ncommand: [\"true\"]\nlaunch: once\n" + more, Durability::none);
  StudyOptions options;
  options.file = folder / "digits.yaml";
  options.results = folder / "results";
  return load_study(options);
}

AttemptRecord ended_attempt(const std::string& config_id, RunName run, int attempt, State state) {
  AttemptRecord record;
  record.experiment = "digits";
  record.key = {config_id, run, attempt};
  record.state = state;
  record.metrics = {{"user_s", 1}, {"wall_s", 2}};
  record.facts = {{"seed", "1"}};
  return record;
}

std::string json_of(const StatusView& view) {
  std::string text;
  write_status_json(view, 0, [&](const std::string& piece) { text += piece; });
  return text;
}

/// Makes an attempt's folder, ended well, and names it in a batch.
void finish_on_disk(const Study& study, const AttemptKey& key) {
  const std::string folder = study.results + "/" + to_string(key);
  std::filesystem::create_directories(folder);
  write_file(folder + "/run.json",
             R"({"schema":1,"experiment":"digits","config_id":")" + key.config_id + R"(","run":")" + to_string(key.run) +
                 R"(","attempt":)" + std::to_string(key.attempt) + R"(,"batch":"00ff00ff00ff00ff","executor":"local",)" +
                 R"("axes":{"k":1},"gpus":1,"success":{"exit_code":0,"pattern":null},"metrics":[]})",
             Durability::none);
  write_file(folder + "/started.json", R"({"schema":1,"host":"n1","job":"7","started_unix_s":1700000001})", Durability::none);
  write_file(folder + "/finished.json", R"({"schema":1,"host":"n1","finished_unix_s":1700000009,"wall_s":8,"exit_code":0})",
             Durability::none);
}

}  // namespace

TEST_CASE("status: every run that is asked for, sorted as texts, with the attempt that counts") {
  const TemporaryFolder folder;
  const Study study = study_of(folder, "matrix: {k: [1, 2]}\nrepeats: 100\n");
  const std::string first = study.plan.configurations[study.plan.by_id[0]].id;
  const std::string second = study.plan.configurations[study.plan.by_id[1]].id;
  REQUIRE(first < second);
  Store store = Store::open(":memory:");
  store.put({ended_attempt(second, {RunKind::repeat, 100}, 1, State::failed),
             ended_attempt(second, {RunKind::repeat, 100}, 2, State::succeeded),
             ended_attempt(first, {RunKind::repeat, 2}, 1, State::timeout),
             ended_attempt(first, {RunKind::repeat, 101}, 1, State::failed),  // no longer asked for
             ended_attempt(first, {RunKind::warmup, 1}, 1, State::failed),
             ended_attempt(first, {RunKind::imported, 1}, 1, State::failed),
             ended_attempt("ffffffffffffffff", {RunKind::repeat, 1}, 1, State::failed),
             ended_attempt("0000000000000000", {RunKind::repeat, 1}, 1, State::failed)});
  const StatusView view = make_status(study, store);
  REQUIRE(view.runs.size() == 200);
  CHECK(view.runs[0].run == first + "/r01");
  CHECK(view.runs[1].run == first + "/r02");
  CHECK(view.runs[9].run == first + "/r10");
  CHECK(view.runs[10].run == first + "/r100");
  CHECK(view.runs[11].run == first + "/r11");
  CHECK(view.runs[110].run == second + "/r100");
  CHECK(view.counts.at(State::planned) == 198);
  CHECK(view.counts.at(State::succeeded) == 1);
  CHECK(view.counts.at(State::timeout) == 1);
  CHECK(view.counts.at(State::failed) == 0);
  REQUIRE(view.runs[110].attempt);
  CHECK(view.runs[110].state == State::succeeded);
  CHECK(view.runs[110].attempt->key.attempt == 2);
  CHECK(to_string(view.runs[110].attempt->key) == second + "/r100/a2");
  CHECK(view.runs[110].attempt->metrics == std::map<std::string, double>{{"wall_s", 2}});
  REQUIRE(view.runs[1].attempt);
  CHECK(view.runs[1].state == State::timeout);
  CHECK_FALSE(view.runs[10].attempt);
  REQUIRE(view.imported.size() == 1);
  CHECK(view.imported[0].run == first + "/i01");
  CHECK(headline(view) == "digits: 200 runs: 198 planned, 1 succeeded, 1 timeout; 1 imported run: 1 failed");
}

TEST_CASE("status: JSON in pieces is laid out as one document") {
  StatusView view{"digits", "/results/digits", "local", {{State::planned, 1}, {State::failed, 1}}, {}};
  CHECK(json_of(view) ==
        "{\n \"schema\": 1,\n \"experiment\": \"digits\",\n \"results\": \"/results/digits\",\n \"counts\": {\n"
        "  \"planned\": 1,\n  \"failed\": 1\n },\n \"imported\": {},\n \"owner\": null,\n \"without_value\": [],\n "
        "\"changed\": [],\n"
        " \"set_aside\": 0,\n \"tried_again\": 0,\n \"runs\": []\n}\n");
  RunStatus planned;
  planned.run = "0a/r01";
  planned.axes = {{"k", Value::from_plain("1")}, {"name", Value::from_text("a\n\"b\xFF")}};
  RunStatus failed = planned;
  failed.run = "0a/r02";
  failed.state = State::failed;
  failed.attempt = ended_attempt("0a", {RunKind::repeat, 2}, 3, State::failed);
  failed.attempt->reason = "line\nbreak\x01\x7F";
  view.runs = {planned, failed};
  const std::string text = json_of(view);
  const auto document = nlohmann::ordered_json::parse(text);
  CHECK(document.dump(1) + "\n" == text);
  REQUIRE(document["runs"].size() == 2);
  CHECK(document["runs"][0]["attempt"].is_null());
  CHECK(document["runs"][0]["executor"] == "local");
  CHECK(document["runs"][0]["axes"]["name"] == "a\n\"b\xEF\xBF\xBD");
  CHECK(document["runs"][1]["attempt"] == "a3");
  CHECK(document["runs"][1]["reason"] == "line\nbreak\x01\x7F");
  CHECK(document["runs"][1]["elapsed_s"] == 2);
  CHECK(document["runs"][1]["path"] == "/results/digits/0a/r02/a3");
}

TEST_CASE("index: of so many attempts that threads look for their folders, those that are gone are forgotten") {
  const TemporaryFolder folder;
  std::vector<AttemptRecord> records;
  for (int repeat = 1; repeat <= 25'000; ++repeat)
    records.push_back(ended_attempt("0123456789abcdef", {RunKind::repeat, repeat}, 1, State::succeeded));
  Store store = Store::open(":memory:");
  store.put(records);
  const std::vector<int> there = {1, 9'999, 12'500, 12'501, 25'000};  // at both ends of what each thread has
  for (const int repeat : there)
    std::filesystem::create_directories(folder / "results/digits/" +
                                        to_string(records[static_cast<std::size_t>(repeat) - 1].key));
  std::vector<int> left;
  for (const AttemptState& state : refresh_index(store, folder / "results", "digits")) left.push_back(state.key.run.number);
  CHECK(left == there);
}

TEST_CASE("index: what batches name and the index lacks is read, in whatever order they name it; what is gone is forgotten") {
  const TemporaryFolder folder;
  const Study study = study_of(folder, "matrix: {k: [1]}\nrepeats: 4\n");
  const std::string id = study.plan.configurations[0].id;
  const auto key = [&](int repeat) { return AttemptKey{id, {RunKind::repeat, repeat}, 1}; };
  for (const int repeat : {1, 2, 4}) finish_on_disk(study, key(repeat));
  std::filesystem::create_directories(study.results + "/batches/00ff00ff00ff00ff");
  write_file(study.results + "/batches/00ff00ff00ff00ff/attempts.txt",
             to_string(key(4)) + "\n" + to_string(key(3)) + "\n" + to_string(key(2)) + "\n" + to_string(key(1)) + "\n",
             Durability::none);
  Store store = Store::open(":memory:");
  // The index says of the second what its folder does not, and is believed: it is an outcome.
  store.put({ended_attempt(id, {RunKind::repeat, 2}, 1, State::failed),
             ended_attempt("ffffffffffffffff", {RunKind::repeat, 1}, 1, State::failed)});
  const std::vector<AttemptState> states = refresh_index(store, study.results_root, "digits");
  REQUIRE(states.size() == 3);
  CHECK(states[0].key == key(1));
  CHECK(states[0].state == State::succeeded);
  CHECK(states[1].key == key(2));
  CHECK(states[1].state == State::failed);
  CHECK(states[2].key == key(4));
  CHECK(states[2].state == State::succeeded);
  // The index itself says the same, and so does a second look, which changes nothing.
  for (const std::vector<AttemptState>& again :
       {store.states("digits"), refresh_index(store, study.results_root, "digits"), store.states("digits")}) {
    REQUIRE(again.size() == states.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
      CHECK(again[i].key == states[i].key);
      CHECK(again[i].state == states[i].state);
    }
  }
}
