#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <sys/stat.h>

#include <algorithm>

#include "attempt_folder.hpp"
#include "base/files.hpp"
#include "fakes/temporary_folder.hpp"

using namespace hpcbench;

namespace {

constexpr const char* kEvents =
    R"({"v":1,"t":1.5,"rank":0,"event":"run_start","task":"mnist_rnn","precision":"fp32","global_batch":64,)"
    R"("device":"cpu","versions":{"torch":"2.13.0","hpcbench":"9"},"hosts":["n1","n1","n2","n2"]}
{"v":1,"t":2,"rank":0,"event":"step","step":10,"loss":2.25,"lr":0.1}
{"v":1,"t":3,"rank":0,"event":"epoch","epoch":1,"epoch_s":3.5,"train_loss":0.75,"samples":8000,"optimizer_steps":125}
{"v":1,"t":4,"rank":0,"event":"eval","epoch":1,"eval_s":0.5,"val_loss":0.5,"accuracy":0.875}
{"v":1,"t":5,"rank":0,"event":"something_new","x":[1,2]}
{"v":1,"t":6,"rank":0,"event":"epoch","epoch":2,"epoch_s":3.25,"train_loss":0.25,"samples":8000,"optimizer_steps":125}
{"v":1,"t":7,"rank":0,"event":"eval","epoch":2,"eval_s":0.5,"val_loss":0.375,"accuracy":0.9375}
{"v":1,"t":8,"rank":0,"event":"run_end","train_s":6.75,"eval_s":1,"setup_s":0.5,"bytes_sent":0,"user_s":5}
)";

std::vector<std::string> points_of(const AttemptRecord& record, const std::string& name) {
  std::vector<std::string> points;
  for (const SeriesPoint& point : record.series) {
    if (point.name == name) points.push_back(std::to_string(point.index) + ":" + std::to_string(point.value));
  }
  return points;
}

}  // namespace

TEST_CASE("a whole run: every field from its file") {
  AttemptFolder folder;
  folder
      .run_json(
          R"("commit":"abc123","dirty":false,"hpcbench":"0.3.0","code":[{"path":"b.py","sha256":"2"},{"path":"a.py","sha256":"1"}])")
      .file("claim", "token t\njob 77\nhost n1\nboot_id b\npid 5\nstart_ticks 6\n")
      .file("started.json", R"({"schema":1,"host":"n1","started_unix_s":1700000050,"job":"77","nodes":"n[1-2],m"})")
      .file("events.jsonl", kEvents)
      .file("events.1.jsonl", R"({"event":"run_end","train_s":7.5,"setup_s":99})"
                              "\n")
      .finished(R"("exit_code":0,"signal":null,"processes":[{"rank":0,"user_s":4,"sys_s":0.25,"max_rss_bytes":1000},)"
                R"({"rank":1,"user_s":4,"sys_s":0.5,"max_rss_bytes":3000}],"files":{"events.jsonl":10})");
  const AttemptRecord record = folder.read();
  CHECK(record.experiment == "digits");
  CHECK(to_string(record.key) == "0123456789abcdef/r02/a3");
  CHECK(to_string(record.key) == "0123456789abcdef/r02/a3");
  CHECK(describe(record.axes) == "strategy=ddp, lr=5e-05");
  CHECK(record.gpus == 2);
  CHECK(record.state == State::succeeded);
  CHECK_FALSE(record.reason);
  CHECK(record.executor == "local");
  CHECK(record.job == "77");
  CHECK(record.batch == "00ff00ff00ff00ff");
  CHECK(record.node == "n1,n2");
  CHECK(record.exit_code == 0);
  CHECK_FALSE(record.signal);
  CHECK(record.intended_unix_s == 1700000000.5);
  CHECK(record.started_unix_s == 1700000050.0);
  CHECK(record.nodes == "n1,n2,m");
  CHECK(record.finished_unix_s == 1700000100.25);
  CHECK(record.time_limit_s == 120.0);
  const std::map<std::string, double> metrics = {
      {"accuracy", 0.9375}, {"bytes_sent", 0},   {"eval_s", 1},   {"max_rss_bytes", 3000}, {"optimizer_steps", 250},
      {"samples", 16000},   {"setup_s", 0.5},    {"sys_s", 0.75}, {"train_loss", 0.25},    {"train_s", 7.5},
      {"user_s", 5},        {"val_loss", 0.375}, {"wall_s", 42.5}};
  CHECK(record.metrics == metrics);
  const std::map<std::string, std::string> facts = {{"code", "95c58a0fd234"}, {"code:a.py", "1"},    {"code:b.py", "2"},
                                                    {"commit", "abc123"},     {"device", "cpu"},     {"dirty", "false"},
                                                    {"global_batch", "64"},   {"hpcbench", "0.3.0"}, {"optimizer_steps", "250"},
                                                    {"precision", "fp32"},    {"samples", "16000"},  {"task", "mnist_rnn"},
                                                    {"torch", "2.13.0"}};
  CHECK(record.facts == facts);
  CHECK(points_of(record, "train_loss") == std::vector<std::string>{"1:0.750000", "2:0.250000"});
  CHECK(points_of(record, "loss") == std::vector<std::string>{"10:2.250000"});
  CHECK(points_of(record, "accuracy").size() == 2);
  CHECK(std::is_sorted(record.series.begin(), record.series.end(),
                       [](const SeriesPoint& a, const SeriesPoint& b) { return a.name < b.name; }));
  CHECK(record.warnings.empty());
}

TEST_CASE("an empty folder, and none at all") {
  AttemptFolder folder;
  AttemptRecord record = folder.read();
  CHECK(record.state == State::intended);
  CHECK(to_string(record.key) == "0123456789abcdef/r02/a3");
  CHECK(record.experiment == "digits");
  CHECK(record.warnings == std::vector<std::string>{"run.json: missing"});
  record = read_attempt("/nonexistent/x/r01/a1");
  CHECK(record.state == State::intended);
  CHECK(record.key.config_id == "x");
  CHECK(read_attempt("").state == State::intended);
}

TEST_CASE("the folder's name is the attempt's identity") {
  AttemptFolder folder;
  folder.file("run.json", R"({"schema":1,"experiment":"other","config_id":"ff","run":"r01","attempt":1})");
  const AttemptRecord record = read_attempt(folder.path() + "/");
  CHECK(record.experiment == "digits");
  CHECK(to_string(record.key) == "0123456789abcdef/r02/a3");
  CHECK(record.warnings == std::vector<std::string>{"run.json: says that it is other/ff/r01/a1; the folder's name counts"});
}

TEST_CASE("files that are no files are reported, not waited for") {
  AttemptFolder folder;
  folder.run_json().finished(R"("exit_code":0,"files":{"events.jsonl":100,"events.1.jsonl":5})").file("events.1.jsonl", "{}");
  std::filesystem::create_directory(folder.path() + "/started.json");
  REQUIRE(::mkfifo((folder.path() + "/events.jsonl").c_str(), 0600) == 0);
  const AttemptRecord record = folder.read();
  CHECK(record.state == State::succeeded);
  const auto has = [&](const std::string& text) {
    return std::find(record.warnings.begin(), record.warnings.end(), text) != record.warnings.end();
  };
  CHECK(has("started.json: not a regular file"));
  CHECK(has("events.jsonl: not a regular file"));
  CHECK(has("events.1.jsonl: 2 of 5 bytes are here"));
}

TEST_CASE("numbers that are none stay absent") {
  AttemptFolder folder;
  folder.run_json()
      .file("events.jsonl", R"({"event":"epoch","epoch":1,"train_loss":0.5,"epoch_s":1}
{"event":"epoch","epoch":2,"train_loss":NaN,"epoch_s":1}
{"event":"run_end","train_s":"NaN","setup_s":null,"data_s":1e999,"eval_s":-Infinity,"user_s":"12","huge_s":1.7e308}
)")
      .file("finished.json", R"({"schema":1,"exit_code":0,"wall_s":-1,"processes":[{"user_s":null},7,{"sys_s":"1"}]})");
  const AttemptRecord record = folder.read();
  CHECK(record.state == State::succeeded);
  CHECK(record.metrics == std::map<std::string, double>{{"huge_s", 1.7e308}, {"user_s", 12}});
  CHECK(points_of(record, "train_loss") == std::vector<std::string>{"1:0.500000"});
  CHECK(record.warnings.empty());
  CHECK(nan_metrics(record) == std::vector<std::string>{"eval_s", "train_loss", "train_s"});
}

TEST_CASE("a metric that ends as NaN takes its namesake of events and its formulas along") {
  AttemptFolder folder;
  folder
      .run_json(R"x("metrics":[{"name":"loss","pattern":"loss ([0-9.]+)","file":"stdout.log","unit":"","series":null},
                {"name":"g","file":"","formula":"f + 1","unit":"","series":null},
                {"name":"f","file":"","formula":"2 * loss","unit":"","series":null}])x")
      .file("events.jsonl", "{\"event\":\"epoch\",\"epoch\":1,\"loss\":0.5}\n")
      .file("stdout.log", "loss 3\nloss nan\n")
      .finished(R"("exit_code":0)");
  const AttemptRecord record = folder.read();
  CHECK(record.state == State::succeeded);
  CHECK(record.metrics.find("loss") == record.metrics.end());
  CHECK(nan_metrics(record) == std::vector<std::string>{"loss", "f", "g"});
  CHECK(record.warnings[0] == "metric loss: 1 of 2 values are not finite, the first is `nan` at stdout.log:2");
}

TEST_CASE("wall_s is the launcher's alone, whatever a program says") {
  AttemptFolder folder;
  folder.run_json().file("events.jsonl", R"({"event":"run_end","wall_s":7,"train_s":2})");
  CHECK(folder.read().metrics == std::map<std::string, double>{{"train_s", 2}});
  folder.finished(R"("exit_code":0,"wall_s":3)");
  CHECK(folder.read().metrics == std::map<std::string, double>{{"train_s", 2}, {"wall_s", 3}});
}

TEST_CASE("whatever stands in the files, reading ends with a record") {
  const std::vector<std::string> names = {"run.json",     "claim",          "started.json", "finished.json",
                                          "events.jsonl", "events.1.jsonl", "stdout.log"};
  std::map<std::string, std::string> whole;
  {
    AttemptFolder folder;
    folder.run_json(
        R"j("metrics":[{"name":"x","file":"*.log","pattern":"x=(\\d+)","unit":"s","series":"step"}],"success":{"pattern":"done"})j");
    folder.finished(R"("exit_code":0,"processes":[{"rank":0,"user_s":1}],"files":{"events.jsonl":3})");
    for (const char* name : {"run.json", "finished.json"}) {
      std::ifstream in(folder.path() + "/" + name);
      whole[name] = std::string(std::istreambuf_iterator<char>(in), {});
    }
  }
  whole["claim"] = "token t\njob 1\nhost h\nboot_id b\npid 1\nstart_ticks 2\n";
  whole["started.json"] = R"({"schema":1,"host":"h","started_unix_s":1,"job":"1"})";
  whole["events.jsonl"] = kEvents;
  whole["events.1.jsonl"] = R"({"event":"run_end","train_s":7.5})"
                            "\n";
  whole["stdout.log"] = "x=1\nx=2\ndone\n";
  CHECK(rc::check("read_attempt is total", [&](const std::vector<std::pair<unsigned, unsigned char>>& changes, unsigned cut) {
    AttemptFolder folder;
    for (std::size_t i = 0; i < names.size(); ++i) {
      std::string content = whole[names[i]];
      for (const auto& [at, byte] : changes) {
        if (at % names.size() == i) content[(at / names.size()) % content.size()] = static_cast<char>(byte);
      }
      if (cut % (2 * names.size()) == i) content.resize(cut % content.size());
      folder.file(names[i], content);
    }
    const AttemptRecord record = folder.read();
    RC_ASSERT(to_string(record.key) == "0123456789abcdef/r02/a3");
    for (const auto& [name, value] : record.metrics) RC_ASSERT(std::isfinite(value));
  }));
}

TEST_CASE("find_attempts: sorted by key, nothing but attempts") {
  AttemptFolder folder;
  for (const char* name : {"b/r10/a1", "b/r2/a1", "b/r02/a2", "b/r02/a10", "b/w01/a1", "a/r01/a1", "a/r01/a01", "a/r01/x",
                           "batches/0f", "a/logs/a1", ".hidden/r01/a1"}) {
    std::filesystem::create_directories(folder.results() + "/" + name);
  }
  std::ofstream(folder.results() + "/b/r02/a3") << "a file";
  std::vector<std::string> found;
  for (const AttemptKey& key : find_attempts(folder.results())) found.push_back(to_string(key));
  CHECK(found ==
        std::vector<std::string>{"0123456789abcdef/r02/a3", "a/r01/a1", "b/r02/a2", "b/r02/a10", "b/r10/a1", "b/w01/a1"});
  CHECK(find_attempts("/nonexistent").empty());
}

TEST_CASE("what hpcbench made of an attempt without finished.json stays with the attempt") {
  const TemporaryFolder folder;
  CHECK(settle_attempt(folder.path().string(), State::lost, "job 7 has gone").state == State::lost);
  CHECK(read_attempt(folder.path().string()).reason == "job 7 has gone");
  write_file(folder / "finished.json", R"({"schema":1,"host":"h","wall_s":1,"exit_code":0,"signal":null})", Durability::none);
  CHECK(read_attempt(folder.path().string()).state == State::succeeded);
  write_file(folder / "finished.json", "", Durability::none);
  write_file(folder / "settled.json", R"({"schema":1,"outcome":"running"})", Durability::none);
  CHECK_FALSE(is_outcome(read_attempt(folder.path().string()).state));
}

TEST_CASE("an attempt whose end nobody saw took at most its limit, and no longer than until it was settled") {
  AttemptFolder folder;
  folder.run_json().file("started.json", R"({"schema":1,"host":"h","started_unix_s":1000.0})");
  const auto limit_of = [&](const std::string& outcome, const std::string& settled) {
    folder.file("settled.json", R"({"schema":1,"outcome":")" + outcome + R"(","settled_unix_s":)" + settled + "}");
    return read_attempt(folder.path()).time_limit_s;
  };
  CHECK(limit_of("node_failure", "1060.5") == 60.5);
  CHECK(limit_of("node_failure", "9999") == 120.0);
  CHECK(limit_of("lost", "990") == 0.0);  // another clock
  CHECK(limit_of("timeout", "1060.5") == 120.0);
}

TEST_CASE("an attempt that was settled without finished.json keeps the last line that it wrote") {
  AttemptFolder folder;
  folder.run_json().file("stderr.log", "loading\nCUDA error: device lost\n\n");
  CHECK(settle_attempt(folder.path(), State::lost, "job 7 has gone").reason ==
        "job 7 has gone; its last line: CUDA error: device lost");
  folder.file("stderr.log", "");
  CHECK(folder.read().reason == "job 7 has gone; its last line: CUDA error: device lost");
  AttemptFolder timeout;
  timeout.run_json().file("stdout.log", "epoch 3\n");
  CHECK(settle_attempt(timeout.path(), State::timeout, "TIMEOUT").reason == "TIMEOUT");
}
