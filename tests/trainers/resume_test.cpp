#include <signal.h>

#include <filesystem>
#include <fstream>

#include "trainers/squad_fixture.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

std::vector<std::string> with(std::vector<std::string> options, const std::vector<std::string>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

/// Returns the final values of all ranks, as bytes.
std::vector<std::string> end_state(const Dump& dump) {
  std::vector<std::string> states;
  for (const std::string& bytes : dump.bytes) states.push_back(bytes.substr(bytes.find("state/")));
  return states;
}

/// 44 samples: 11 steps an epoch on one rank, 6 on two, 4 on three. With everything that a checkpoint could forget.
const std::vector<std::string> kNineSteps = {"--precision", "fp32", "--batch-size", "4",      "--lr",           "1e-3",
                                             "--clip",      "1",    "--schedule",   "linear", "--warmup-steps", "3",
                                             "--max-steps", "9",    "--seed",       "5"};

}  // namespace

TEST_CASE("killed in the middle of an epoch and resumed: bit-identical to a run without interruption") {
  for (const int size : {1, 2, 3}) {
    CAPTURE(size);
    const SquadFixture fixture;
    const Dump expected = fixture.train(size, kNineSteps);
    const std::vector<std::string> kept =
        with(kNineSteps, {"--output", fixture.path("out"), "--checkpoint", "last", "--checkpoint-every", "4"});
    for (const Ended& ended : fixture.ranks_of(size, kept, "kill_at_6", fixture.path("killed"))) CHECK(ended.signal == SIGKILL);
    const std::vector<std::string> resumed =
        with(kept, {"--resume", fixture.path("out/checkpoint"), "--events", fixture.path("e")});
    CHECK((end_state(fixture.train(size, resumed)) == end_state(expected)));
    const std::size_t steps = event_lines(fixture.path("e"), "step").size();
    CHECK(steps == 5);  // from the checkpoint of step 4 on
    // And again from the end: nothing is left to do, nothing changes.
    CHECK((end_state(fixture.train(size, resumed)) == end_state(expected)));
    CHECK(event_lines(fixture.path("e"), "step").size() == steps);
  }
}

TEST_CASE("a checkpoint in shards: killed and resumed, bit-identical; another strategy continues it like a whole one") {
  for (const char* const strategy : {"zero2", "fsdp"}) {
    CAPTURE(strategy);
    const SquadFixture fixture;
    const std::vector<std::string> options = with(kNineSteps, {"--strategy", strategy});
    const Dump expected = fixture.train(2, options);
    const auto kept = [&](const char* folder, const char* format) {
      return with(options, {"--output", fixture.path(folder), "--checkpoint", "last", "--checkpoint-every", "4",
                            "--checkpoint-format", format});
    };
    for (const char* const format : {"sharded", "whole"}) {
      for (const Ended& ended : fixture.ranks_of(2, kept(format, format), "kill_at_6", fixture.path("killed")))
        CHECK(ended.signal == SIGKILL);
    }
    const std::filesystem::path shards = fixture.path("sharded/checkpoint/last");
    CHECK(std::filesystem::exists(shards / "1-rank-0of2.safetensors"));
    CHECK(std::filesystem::exists(shards / "1-rank-1of2.safetensors"));
    const auto from = [&](const char* folder) {
      return std::vector<std::string>{"--resume", fixture.path(folder) + "/checkpoint"};
    };
    const std::vector<std::string> other = with(kNineSteps, {"--strategy", "ddp"});
    CHECK(
        (end_state(fixture.train(2, with(other, from("sharded")))) == end_state(fixture.train(2, with(other, from("whole"))))));
    // Kept whole from here on: the shards are removed with the checkpoint that named them.
    CHECK((end_state(fixture.train(2, with(kept("sharded", "whole"), from("sharded")))) == end_state(expected)));
    CHECK_FALSE(std::filesystem::exists(shards));
    CHECK((end_state(fixture.train(2, with(kept("whole", "sharded"), from("whole")))) == end_state(expected)));
    CHECK(std::filesystem::exists(fixture.path("whole/checkpoint/last")));
  }
}

TEST_CASE("SIGTERM of one rank: a checkpoint at the step boundary that all ranks share, exit code 143, and on") {
  const SquadFixture fixture;
  const Dump expected = fixture.train(2, kNineSteps);
  const std::vector<std::string> kept =
      with(kNineSteps, {"--output", fixture.path("out"), "--checkpoint", "last", "--events", fixture.path("e")});
  for (const Ended& ended : fixture.ranks_of(2, kept, "term_at_5", fixture.path("stopped"))) {
    INFO(ended.err);
    CHECK(ended.exit_code == 143);
  }
  CHECK(event_lines(fixture.path("e"), "checkpoint").back().at("step") == 6);  // the other rank learned of it a step later
  CHECK(event_lines(fixture.path("e"), "warning").back().at("code") == "terminated");
  CHECK((end_state(fixture.train(2, with(kept, {"--resume", fixture.path("out/checkpoint")}))) == end_state(expected)));
}

TEST_CASE("a run with a constant rate can be made longer; the losses of its epochs are those of one run") {
  const SquadFixture fixture;
  const std::vector<std::string> options = {"--batch-size", "4",        "--padding",         "grouped",      "--pad-in-softmax",
                                            "false",        "--output", fixture.path("out"), "--checkpoint", "last"};
  const Dump expected = fixture.train(1, with(options, {"--max-steps", "15", "--events", fixture.path("whole")}));
  fixture.train(1, with(options, {"--max-steps", "4", "--events", fixture.path("first")}));
  const Dump longer = fixture.train(
      1, with(options, {"--max-steps", "15", "--resume", fixture.path("out/checkpoint"), "--events", fixture.path("parts")}));
  CHECK((end_state(longer) == end_state(expected)));
  const auto losses = [&](const char* name) {
    std::vector<double> values;
    for (const auto& epoch : event_lines(fixture.path(name), "epoch")) values.push_back(epoch.at("train_loss").get<double>());
    return values;
  };
  CHECK(losses("whole").size() == 2);
  CHECK(losses("parts") == losses("whole"));
  // Counts are those of this process: another one made 4 of the 11 steps of the first epoch.
  const auto first = [&](const char* name) { return event_lines(fixture.path(name), "epoch").front(); };
  const auto before = event_lines(fixture.path("first"), "epoch").front();
  CHECK(before.at("optimizer_steps") == 4);
  CHECK(first("parts").at("optimizer_steps") == 7);
  for (const char* count : {"samples", "optimizer_steps", "tokens"}) {
    CAPTURE(count);
    CHECK(before.at(count).get<int>() + first("parts").at(count).get<int>() == first("whole").at(count).get<int>());
  }
}

TEST_CASE("mnist_rnn killed and resumed: Adadelta, momentum, batch normalisation, decay of the rate") {
  const std::vector<std::vector<std::string>> cases = {{"--optimizer", "adadelta"},
                                                       {"--optimizer", "sgd", "--momentum", "0.9"}};
  for (const std::vector<std::string>& options : cases) {
    const TemporaryFolder folder;
    const auto end_of = [&](const char* mode, const std::vector<std::string>& more) {
      std::vector<std::string> command = {program("trainer_parity_worker"),
                                          folder / mode,
                                          mode,
                                          "run",
                                          "--data",
                                          mnist_folder(),
                                          "--batch-size",
                                          "400",
                                          "--max-steps",
                                          "30",
                                          "--eval",
                                          "false"};
      command = with(with(command, options), more);
      return run_ranks(folder.path(), 1, command).front().exit_code;
    };
    REQUIRE(end_of("exact", {}) == 0);
    const auto expected = end_state(read_dumps(folder / "exact", 1));
    const std::vector<std::string> keep = {"--output", folder / "out", "--checkpoint", "last", "--checkpoint-every", "12"};
    CHECK_FALSE(end_of("kill_at_26", keep).has_value());  // in the second epoch of 20 steps
    REQUIRE(end_of("exact", with(keep, {"--resume", folder / "out/checkpoint"})) == 0);
    CHECK((end_state(read_dumps(folder / "exact", 1)) == expected));
  }
}

TEST_CASE("the last step's state is kept once, where a checkpoint is due there, too") {
  for (const char* const every : {"3", "4"}) {
    CAPTURE(every);
    const SquadFixture fixture;
    fixture.train(1, with(kNineSteps, {"--output", fixture.path("out"), "--checkpoint", "last", "--checkpoint-every", every,
                                       "--eval", "false", "--events", fixture.path("e")}));
    CHECK(event_lines(fixture.path("e"), "checkpoint").size() == 3);  // after steps 3 6 9, and 4 8 9
  }
}

TEST_CASE("what cannot be resumed from is refused") {
  const SquadFixture fixture;
  const std::vector<std::string> kept = with(kNineSteps, {"--output", fixture.path("out"), "--checkpoint", "last", "--save",
                                                          fixture.path("saved"), "--eval", "false"});
  const Ended first = run_alone(fixture.folder(), fixture.command(kept));
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  const auto complaint = [&](const std::vector<std::string>& more, int exit_code) {
    const Ended ended = run_alone(fixture.folder(), fixture.command(with(kept, more)));
    CAPTURE(ended.err);
    CHECK(ended.exit_code == exit_code);
    CHECK(ended.err.rfind("error: ", 0) == 0);
    return ended.err;
  };
  const std::string folder = fixture.path("out/checkpoint");
  const std::string other = complaint({"--resume", folder, "--lr", "0.5", "--clip", "0"}, 2);
  CHECK(other.find("is of a run with other settings: clip (1 there, 0 now), lr (0.001 there, 0.5 now)") != std::string::npos);
  CHECK(complaint({"--resume", folder, "--max-steps", "12"}, 2).find("max_steps (9 there, 12 now)") != std::string::npos);
  CHECK(complaint({"--resume", fixture.path("nowhere")}, 3).find("nowhere/last.safetensors") != std::string::npos);
  CHECK(complaint({"--resume", fixture.path("saved/model.safetensors")}, 3).find("trained weights alone are not enough") !=
        std::string::npos);
  const std::string bytes = slurp(folder + "/last.safetensors");
  std::ofstream(folder + "/last.safetensors", std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  CHECK(complaint({"--resume", folder}, 3).find("last.safetensors") != std::string::npos);
  std::string damaged = bytes;
  damaged[bytes.size() - 100] = static_cast<char>(damaged[bytes.size() - 100] ^ 1);  // one bit of one number
  std::ofstream(folder + "/last.safetensors", std::ios::binary) << damaged;
  CHECK(complaint({"--resume", folder}, 3).find("is damaged: it does not hold what was written") != std::string::npos);
}

}  // namespace hpcbench::train
