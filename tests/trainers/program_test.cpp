#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/signals.hpp"
#include "fakes/temporary_folder.hpp"
#include "trainers/ranks.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

using Json = nlohmann::json;

std::vector<Json> read_events(const std::filesystem::path& path) {
  std::vector<Json> events;
  std::istringstream lines(slurp(path));
  for (std::string line; std::getline(lines, line);) events.push_back(Json::parse(line));
  return events;
}

std::vector<Json> events_named(const std::vector<Json>& events, const std::string& name) {
  std::vector<Json> found;
  for (const Json& event : events) {
    if (event.at("event") == name) found.push_back(event);
  }
  return found;
}

/// Returns a folder with a run.json that sets nothing: events are written there.
std::string write_run_file(const TemporaryFolder& folder) {
  std::ofstream(folder / "run.json") << R"({"task":null,"gpus":2})";
  return folder / "run.json";
}

/// Starts ranks whose events go to `folder`; rank r gets `options[r]`.
std::vector<Process> start_ranks(const TemporaryFolder& folder, const std::vector<std::vector<std::string>>& options) {
  const int port = free_port();
  const std::string run_file = write_run_file(folder);
  std::vector<Process> ranks;
  for (std::size_t rank = 0; rank < options.size(); ++rank) {
    auto environment = rank_environment(static_cast<int>(rank), static_cast<int>(options.size()), port);
    environment["HPCBENCH_RUN"] = run_file;
    ranks.emplace_back(folder.path(), "rank" + std::to_string(rank), train_command(options[rank]), environment);
  }
  return ranks;
}

/// Runs two ranks, which must end well and print nothing on their standard error.
void run_two_ranks_well(const TemporaryFolder& folder, const std::vector<std::string>& options) {
  std::vector<Process> ranks = start_ranks(folder, {options, options});
  for (Process& rank : ranks) {
    const Ended ended = rank.wait();
    INFO(ended.err);
    CHECK(ended.exit_code == 0);
    CHECK(ended.err.empty());
  }
}

/// Waits until the file contains an event of that name.
bool wait_for_event(const std::string& path, const std::string& name) {
  for (int turn = 0; turn < 12000; ++turn) {
    if (slurp(path).find("\"" + name + "\"") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

const std::vector<std::string> kEndless = {"--strategy", "ddp", "--epochs", "100000", "--log-every", "1", "--timeout", "60"};

}  // namespace

TEST_CASE("one epoch on real digits: the loss falls, the accuracy rises, the events show it") {
  const TemporaryFolder folder;
  const Ended ended =
      run_alone(folder.path(), train_command({"--optimizer", "adamw", "--lr", "0.005", "--epochs", "2", "--log-every", "20"}),
                {{"HPCBENCH_RUN", write_run_file(folder)}});
  INFO(ended.err);
  REQUIRE(ended.exit_code == 0);
  CHECK(ended.out.find("8000 of the 10000 test images train, 2000 validate (train_share 0.8)") != std::string::npos);
  const std::vector<Json> events = read_events(folder / "events.jsonl");
  CHECK(events.front().at("event") == "run_start");
  CHECK(events.front().at("global_batch") == 64);
  CHECK(events.front().at("gpus") == 2);
  CHECK(events.front().at("hosts").size() == 1);
  const std::vector<Json> epochs = events_named(events, "epoch");
  REQUIRE(epochs.size() == 2);
  CHECK(epochs[0].at("samples") == 8000);
  CHECK(epochs[0].at("optimizer_steps") == 125);
  CHECK(epochs[0].at("train_loss") < 2.0);
  CHECK(epochs[1].at("train_loss") < epochs[0].at("train_loss"));
  const std::vector<Json> evaluations = events_named(events, "eval");
  REQUIRE(evaluations.size() == 2);
  CHECK(evaluations[1].at("accuracy") > 0.8);
  CHECK(evaluations[1].at("val_loss") < 0.8);
  CHECK(events_named(events, "step").size() == 12);
  CHECK(events_named(events, "warning").front().at("code") == "train_share");
  const Json end = events.back();
  CHECK(end.at("event") == "run_end");
  CHECK(end.at("train_s") > 0.0);
  CHECK(end.at("train_eval_s") == doctest::Approx(end.at("train_s").get<double>() + end.at("eval_s").get<double>()));
}

TEST_CASE("dp: each device of the one process counts") {
  const TemporaryFolder folder;
  const std::string events = folder / "events.jsonl";
  const Ended ended = run_alone(
      folder.path(),
      train_command({"--strategy", "dp", "--devices", "2", "--max-steps", "1", "--eval", "false", "--events", events}), {});
  INFO(ended.err);
  REQUIRE(ended.exit_code == 0);
  const Json start = read_events(events).front();
  CHECK(start.at("world_size") == 1);
  CHECK(start.at("gpus") == 2);
}

TEST_CASE("a trace of chosen steps, of each rank") {
  const TemporaryFolder folder;
  const std::vector<std::string> options = {"--strategy", "ddp",       "--max-steps", "4",       "--eval",
                                            "false",      "--kernels", "torch",       "--trace", "2-3"};
  run_two_ranks_well(folder, options);
  for (const char* name : {"trace/rank-0.json", "trace/rank-1.json"}) {
    const Json trace = Json::parse(slurp(folder / name));
    const Json& events = trace.at("traceEvents");
    // One call an optimiser step.
    CHECK(std::count_if(events.begin(), events.end(), [](const Json& event) {
            return event.value("name", "") == "autograd::engine::evaluate_function: NllLossBackward0";
          }) == 2);
  }
  const std::vector<Ended> late = run_ranks(
      folder.path(), 1, train_command({"--max-steps", "3", "--eval", "false", "--trace", "4", "--output", folder / "late"}));
  CHECK(late.front().exit_code == 2);
  CHECK(late.front().err.find("error: trace 4: the training has 3 steps only") != std::string::npos);
}

TEST_CASE("a trace of a resumed training: what is left of its steps, or a warning") {
  const TemporaryFolder folder;
  const auto train = [&](const std::vector<std::string>& more) {
    std::vector<std::string> options = {"--eval", "false", "--checkpoint", "last", "--kernels", "torch"};
    options.insert(options.end(), more.begin(), more.end());
    const Ended ended = run_alone(folder.path(), train_command(options), {});
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    return ended;
  };
  train({"--max-steps", "3", "--output", folder / "a"});
  const std::string kept = folder / "a/checkpoint";
  const Ended part = train({"--max-steps", "5", "--resume", kept, "--trace", "3-5", "--output", folder / "part"});
  CHECK(part.out.find("trace of steps 4-5: ") != std::string::npos);
  CHECK(part.err.empty());
  CHECK(std::filesystem::exists(folder / "part/trace/rank-0.json"));
  const Ended late = train({"--max-steps", "5", "--resume", kept, "--trace", "2-3", "--output", folder / "late"});
  CHECK(late.err.find("warning: no trace was written: this process made no step of trace 2-3") != std::string::npos);
}

TEST_CASE("a strategy of another system's name is printed with what it is; events keep its name") {
  const TemporaryFolder folder;
  const std::vector<Ended> ranks = run_ranks(
      folder.path(), 1,
      train_command({"--strategy", "deepspeed", "--max-steps", "1", "--eval", "false", "--events", folder / "events.jsonl"}));
  INFO(ranks.front().err);
  REQUIRE(ranks.front().exit_code == 0);
  CHECK(ranks.front().out.find("mnist_rnn, deepspeed (zero2) on 1 process ") != std::string::npos);
  CHECK(read_events(folder / "events.jsonl").front().at("strategy") == "deepspeed");
}

TEST_CASE("two ranks: each writes its events, rank 0 those of the run") {
  const TemporaryFolder folder;
  const std::vector<std::string> options = {"--strategy", "ddp", "--epochs", "1", "--global-batch", "128"};
  run_two_ranks_well(folder, options);
  const std::vector<Json> first = read_events(folder / "events.jsonl");
  const std::vector<Json> second = read_events(folder / "events.1.jsonl");
  CHECK(events_named(first, "epoch").front().at("samples") == 8000);
  CHECK(events_named(first, "run_start").front().at("hosts").size() == 2);
  CHECK(events_named(second, "epoch").empty());
  CHECK(second.back().at("event") == "run_end");
  CHECK(second.back().at("rank") == 1);
}

TEST_CASE("what cannot be done is refused with exit code 2") {
  const TemporaryFolder folder;
  const auto complaint = [&](const std::vector<std::string>& options, std::map<std::string, std::string> environment = {}) {
    const Ended ended = run_alone(folder.path(), train_command(options), environment);
    CHECK(ended.exit_code == 2);
    CHECK(ended.err.rfind("error: ", 0) == 0);
    return ended.err;
  };
  CHECK(complaint({"--strategy", "nonsense"}).find("no strategy `nonsense`; there are: baseline, ") != std::string::npos);
  CHECK(complaint({"--task", "mnist"}).find("no task `mnist` (did you mean `mnist_rnn`?); there are: mnist_rnn, bert_squad") !=
        std::string::npos);
  CHECK(complaint({"--strategy", "baseline"}, rank_environment(0, 2, 29999)).find("WORLD_SIZE is 2") != std::string::npos);
  CHECK(complaint({"--batch-size", "7999"}).find("batch normalisation needs at least 2") != std::string::npos);
  // The last 8 of 8,000 samples make parts of 1: reported before the first epoch, not at its end.
  CHECK(complaint({"--strategy", "dp", "--devices", "8", "--batch-size", "18", "--events", folder / "dp"})
            .find("samples a step and device, but with batches of 18 on 8 devices and 8000 training samples one has 1") !=
        std::string::npos);
  CHECK(slurp(folder / "dp").find("run_start") == std::string::npos);
  CHECK(complaint({"--epochs", "x"}).find("`x` is not a whole number of at least 1\n") != std::string::npos);
  CHECK(complaint({"--epochs", "9999999999"}).find("is not a whole number of at least 1 and at most 1073741824\n") !=
        std::string::npos);
}

TEST_CASE("a folder of checkpoints is of one training, which removes what killed ones left unfinished") {
  const TemporaryFolder folder;
  const std::filesystem::path kept = folder.path() / "out/checkpoint";
  std::filesystem::create_directories(kept / "best");
  const std::vector<std::filesystem::path> unfinished = {kept / "last.safetensors.tmp-12-0", kept / "best/config.json.tmp-1-3"};
  for (const std::filesystem::path& path : unfinished) std::ofstream(path) << "x";
  std::ofstream(kept / "best/mine.txt") << "x";
  const std::vector<std::string> options = {"--checkpoint", "both", "--output", folder / "out", "--epochs", "100000"};
  const auto start = [&](const char* name) {
    return Process(folder.path(), name, train_command(options), {{"HPCBENCH_RUN", write_run_file(folder)}});
  };
  Process first = start("first");
  REQUIRE(wait_for_event(folder / "events.jsonl", "checkpoint"));
  for (const std::filesystem::path& path : unfinished) CHECK_FALSE(std::filesystem::exists(path));
  CHECK(std::filesystem::exists(kept / "best/mine.txt"));
  const Ended second = start("second").wait(60);
  CHECK(second.exit_code == 3);
  CHECK(second.err.find("error: another training, process ") == 0);
  CHECK(second.err.find("keeps its checkpoints in " + kept.string() + ": end it, or choose another `output`") !=
        std::string::npos);
  first.send(SIGTERM);
  CHECK(first.wait(60).exit_code == 143);
  CHECK_FALSE(std::filesystem::exists(kept / "lock"));
}

TEST_CASE("a training that continues in another folder takes the best model along") {
  const TemporaryFolder folder;
  // Without learning no epoch is better than the first.
  std::vector<std::string> options = {"--batch-norm", "false", "--lr", "0", "--batch-size", "2000", "--checkpoint", "both"};
  const auto train = [&](const char* epochs, const std::string& output, const std::vector<std::string>& more) {
    std::vector<std::string> all = options;
    all.insert(all.end(), {"--epochs", epochs, "--output", folder / output});
    all.insert(all.end(), more.begin(), more.end());
    const Ended ended = run_alone(folder.path(), train_command(all));
    CHECK(ended.exit_code == 0);
    return ended.err;
  };
  CHECK(train("1", "a", {}).empty());
  const std::string best = slurp(folder / "a/checkpoint/best/model.safetensors");
  REQUIRE_FALSE(best.empty());
  CHECK(train("2", "b", {"--resume", folder / "a/checkpoint"}).empty());
  CHECK((slurp(folder / "b/checkpoint/best/model.safetensors") == best));
  std::filesystem::remove_all(folder / "a/checkpoint/best");
  CHECK(train("2", "c", {"--resume", folder / "a/checkpoint"}).find("warning: the best model so far, of epoch 1, is not in ") ==
        0);
}

TEST_CASE("a checkpoint at a step that its epoch has not is damaged") {
  const TemporaryFolder folder;
  std::vector<std::string> options = {"--eval",      "false", "--checkpoint", "last",
                                      "--max-steps", "3",     "--output",     folder / "out"};
  REQUIRE(run_alone(folder.path(), train_command(options)).exit_code == 0);
  const std::filesystem::path file = folder.path() / "out/checkpoint/last.safetensors";
  std::string whole = slurp(file);
  const std::size_t seal = whole.find("hpcbench_xxh3");
  REQUIRE(seal != std::string::npos);
  whole[seal] = 'H';  // as from a version whose checkpoints had none
  options.insert(options.end(), {"--resume", folder / "out/checkpoint"});
  // As long as the file that it replaces.
  const std::vector<std::pair<std::string, std::string>> damages = {{R"(\"epoch_steps\":3)", R"(\"epoch_steps\":9)"},
                                                                    {R"(\"epoch\":1)", R"(\"epoch\":0)"}};
  for (const auto& [from, to] : damages) {
    std::string damaged = whole;
    const std::size_t place = damaged.find(from);
    REQUIRE(place != std::string::npos);
    damaged.replace(place, to.size(), to);
    std::ofstream(file, std::ios::binary) << damaged;
    const Ended ended = run_alone(folder.path(), train_command(options));
    CHECK(ended.exit_code == 3);
    CHECK(ended.err.find("is damaged: step 3 is not step ") != std::string::npos);
  }
}

TEST_CASE("unreadable data: exit code 3, the file is named") {
  const TemporaryFolder folder;
  const Ended ended = run_alone(folder.path(), {program("hpcbench-train"), "run", "--data", folder / "none"});
  CHECK(ended.exit_code == 3);
  CHECK(ended.err.find((folder / "none") + "/t10k-images-idx3-ubyte") != std::string::npos);
}

TEST_CASE("one rank cannot read its data: all end, and name the root cause") {
  for (const std::size_t broken : {0U, 1U}) {
    const TemporaryFolder folder;
    std::vector<std::vector<std::string>> options(3, kEndless);
    options[broken].insert(options[broken].end(), {"--data", folder / "none"});
    std::vector<Process> ranks = start_ranks(folder, options);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const Ended ended = ranks[rank].wait();
      CAPTURE(rank);
      CAPTURE(ended.err);
      CHECK(ended.exit_code == (rank == broken ? 3 : 1));
      CHECK(ended.err.find("rank " + std::to_string(broken) + " on ") != std::string::npos);
      CHECK(ended.err.find((folder / "none") + "/t10k-images-idx3-ubyte") != std::string::npos);
      const std::string file = rank == 0 ? "events.jsonl" : "events." + std::to_string(rank) + ".jsonl";
      const Json last = read_events(folder / file).back();
      CHECK(last.at("event") == "error");
      CHECK(last.at("cause").get<std::string>().find("t10k-images-idx3-ubyte") != std::string::npos);
    }
  }
}

TEST_CASE("a write to a connection that a killed rank has left is an error, not the silent end of this rank") {
  install_signal_flags();
  std::array<int, 2> ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  close(ends[0]);
  CHECK(write(ends[1], "x", 1) == -1);
  CHECK(errno == EPIPE);
  close(ends[1]);
}

TEST_CASE("a killed rank ends the others, and they name it") {
  for (const std::size_t victim : {0U, 2U}) {
    const TemporaryFolder folder;
    std::vector<Process> ranks = start_ranks(folder, std::vector(3, kEndless));
    REQUIRE(wait_for_event(folder / "events.jsonl", "step"));
    ranks[victim].send(SIGKILL);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const Ended ended = ranks[rank].wait();
      CAPTURE(rank);
      CAPTURE(ended.err);
      if (rank == victim) continue;
      CHECK(ended.exit_code == 1);
      CHECK(ended.err.find("rank " + std::to_string(victim)) != std::string::npos);
    }
  }
}

TEST_CASE("a rank that stops answering: the others end after the timeout and name it") {
  const TemporaryFolder folder;
  std::vector<std::string> options = kEndless;
  options.back() = "4";
  std::vector<Process> ranks = start_ranks(folder, {options, options});
  REQUIRE(wait_for_event(folder / "events.jsonl", "step"));
  ranks[1].send(SIGSTOP);
  const Ended ended = ranks[0].wait();
  CAPTURE(ended.err);
  CHECK(ended.exit_code == 1);
  CHECK(ended.err.find("rank 1") != std::string::npos);
}

TEST_CASE("SIGTERM ends at a step boundary with 143") {
  const TemporaryFolder folder;
  std::vector<Process> ranks = start_ranks(folder, {kEndless, kEndless});
  REQUIRE(wait_for_event(folder / "events.jsonl", "step"));
  for (const Process& rank : ranks) rank.send(SIGTERM);
  for (Process& rank : ranks) {
    const Ended ended = rank.wait();
    CAPTURE(ended.err);
    CHECK(ended.exit_code == 143);
  }
  CHECK(events_named(read_events(folder / "events.jsonl"), "warning").back().at("code") == "terminated");
  // The same for people, with rank and step.
  for (const std::string rank : {"0", "1"}) {
    const std::string log = slurp(folder / (rank == "0" ? "train.log" : "train.1.log"));
    CAPTURE(log);
    CHECK(log.find(" [rank " + rank + ", step ") != std::string::npos);
    CHECK(log.find("] warning rank " + rank + " on ") != std::string::npos);
    CHECK((log.find("] info mnist_rnn, ddp on 2 processes of 1 thread: ") != std::string::npos) == (rank == "0"));
  }
}

}  // namespace hpcbench::train
