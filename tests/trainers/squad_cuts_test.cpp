#include "trainers/squad_fixture.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

std::vector<std::string> extended(std::vector<std::string> options, const std::vector<std::string>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

/// Two epochs of 10 samples in batches of 4, two of them a step: the last step of an epoch has one batch of 2.
const std::vector<std::string> kShortEnds = {
    "--max-train-examples", "10",  "--batch-size", "4",    "--accumulate", "2",  "--epochs", "2",
    "--optimizer",          "sgd", "--lr",         "0.05", "--momentum",   "0.9"};

/// Returns parameters whose true gradient is zero, because a softmax ignores a shift: they contain only rounding noise.
bool holds_noise(const std::string& name) {
  return name.find("key.bias") != std::string::npos || name.find("layer.1.output.LayerNorm.bias") != std::string::npos ||
         name.find("qa_outputs.bias") != std::string::npos;
}

void check_same_state(const Dump& a, const Dump& b, double tolerance) {
  int compared = 0;
  for (const auto& [name, tensor] : b.tensors) {
    if (name.rfind("state/", 0) != 0 || holds_noise(name)) continue;
    ++compared;
    CAPTURE(name);
    CHECK(relative_difference(a.tensors.at(name), tensor) <= tolerance);
  }
  CHECK(compared == 35);
}

/// Of every step: loss, learning rate, samples.
std::vector<std::vector<double>> step_facts(const std::string& events) {
  std::vector<std::vector<double>> facts;
  for (const auto& event : event_lines(events, "step"))
    facts.push_back({event.at("loss").get<double>(), event.at("lr").get<double>(), event.at("samples").get<double>()});
  return facts;
}

std::vector<double> validation_losses(const std::string& events) {
  std::vector<double> losses;
  for (const auto& event : event_lines(events, "eval")) losses.push_back(event.at("val_loss").get<double>());
  return losses;
}

}  // namespace

TEST_CASE("paddings agree where batches, steps and ranks are uneven, by every average, with dropout") {
  const SquadFixture fixture;
  const std::vector<std::vector<std::string>> cuts = {
      {}, {"--accumulate-by", "nominal"}, {"--loss-average", "global"}, {"--order", "batches"}};
  for (const int ranks : {1, 2}) {
    for (const std::vector<std::string>& cut : cuts) {
      CAPTURE(ranks);
      CAPTURE(cut);
      const std::vector<std::string> options =
          extended(extended(kShortEnds, cut), {"--pad-in-softmax", "false", "--dropout", "0.2"});
      const Dump packed = fixture.train(ranks, extended(options, {"--padding", "none"}));
      check_same_state(fixture.train(ranks, extended(options, {"--padding", "max"})), packed, 1e-10);
      if (ranks == 1) check_same_state(fixture.train(1, extended(options, {"--padding", "longest"})), packed, 1e-10);
    }
  }
}

TEST_CASE("every sample weighs the same by the global average, however a step is cut") {
  const SquadFixture fixture;
  const std::vector<std::string> global = extended(kShortEnds, {"--loss-average", "global", "--dropout", "0"});
  // Steps of 8 and 2 samples, in micro-batches of 8, 4 and 1, and over two ranks; then steps of 9 and 1.
  const Dump whole = fixture.train(1, extended(global, {"--batch-size", "8", "--accumulate", "1"}));
  check_same_state(fixture.train(1, global), whole, 1e-12);
  check_same_state(fixture.train(2, extended(global, {"--batch-size", "2"})), whole, 1e-12);
  check_same_state(fixture.train(2, extended(global, {"--batch-size", "4", "--accumulate", "1"})), whole, 1e-12);
  check_same_state(fixture.train(1, extended(global, {"--batch-size", "1", "--accumulate", "8"})), whole, 1e-12);
  const Dump nine = fixture.train(1, extended(global, {"--batch-size", "9", "--accumulate", "1"}));
  check_same_state(fixture.train(1, extended(global, {"--batch-size", "3", "--accumulate", "3"})), nine, 1e-12);
}

TEST_CASE("killed between the micro-batches' steps and resumed, with early stopping: the same losses, the same end") {
  const SquadFixture fixture;
  // 20 samples: steps of 12 and 8. The validation loss rises soon at such a rate; the run ends before its epochs do.
  const std::vector<std::string> options = {"--max-train-examples",
                                            "20",
                                            "--batch-size",
                                            "4",
                                            "--accumulate",
                                            "3",
                                            "--epochs",
                                            "12",
                                            "--lr",
                                            "3e-2",
                                            "--eval",
                                            "true",
                                            "--schedule",
                                            "linear",
                                            "--patience",
                                            "2",
                                            "--eval-data",
                                            fixture.path("questions.json"),
                                            "--checkpoint",
                                            "both",
                                            "--clip",
                                            "1"};
  const std::string whole_events = fixture.path("whole");
  const Dump whole = fixture.train(1, extended(options, {"--output", fixture.path("w"), "--events", whole_events}));
  const std::vector<std::string> kept =
      extended(options, {"--output", fixture.path("p"), "--checkpoint-every", "5", "--events", fixture.path("parts")});
  for (const Ended& ended : fixture.ranks_of(1, kept, "kill_at_6", fixture.path("killed"))) CHECK(ended.signal == 9);
  const std::string rest_events = fixture.path("rest");
  const Dump resumed = fixture.train(1, extended(kept, {"--resume", fixture.path("p/checkpoint"), "--events", rest_events}));
  const std::string state = whole.bytes.front().substr(whole.bytes.front().find("state/"));
  CHECK((resumed.bytes.front().substr(resumed.bytes.front().find("state/")) == state));
  const auto all = step_facts(whole_events);
  const auto rest = step_facts(rest_events);
  CHECK(all.size() > 6);
  CHECK(all.size() < 24);
  REQUIRE(rest.size() == all.size() - 5);
  CHECK((std::vector(all.begin() + 5, all.end()) == rest));
  const auto losses = validation_losses(whole_events);
  const auto rest_losses = validation_losses(rest_events);
  REQUIRE(rest_losses.size() == losses.size() - 2);
  CHECK((std::vector(losses.begin() + 2, losses.end()) == rest_losses));
  CHECK((slurp(fixture.path("w/checkpoint/best/model.safetensors")) ==
         slurp(fixture.path("p/checkpoint/best/model.safetensors"))));
}

TEST_CASE("1, 2 and 4 threads: the same losses and weights") {
  const SquadFixture fixture;
  for (const char* padding : {"max", "none"}) {
    CAPTURE(padding);
    std::vector<double> expected;
    for (const char* threads : {"1", "2", "4"}) {
      CAPTURE(threads);
      const std::string events = fixture.path(std::string("events-") + padding + threads);
      // Large enough for every kernel to be shared among the threads.
      const std::vector<std::string> options = {"--model",      "tiny",  "--vocab",          fixture.path("model/vocab.txt"),
                                                "--batch-size", "24",    "--optimizer",      "sgd",
                                                "--lr",         "0.5",   "--clip",           "1",
                                                "--max-steps",  "6",     "--dropout",        "0.1",
                                                "--eval",       "false", "--padding",        padding,
                                                "--events",     events,  "--pad-in-softmax", "false"};
      const Ended ended =
          run_alone(fixture.folder(), fixture.command(options), {{"OMP_NUM_THREADS", threads}, {"OMP_WAIT_POLICY", "passive"}});
      INFO(ended.err);
      REQUIRE(ended.exit_code == 0);
      std::vector<double> losses;
      for (const auto& event : event_lines(events, "step")) losses.push_back(event.at("loss").get<double>());
      REQUIRE(losses.size() == 6);
      CHECK(losses.back() < losses.front());
      if (expected.empty()) expected = losses;
      for (std::size_t step = 0; step < losses.size(); ++step)
        CHECK(losses[step] == doctest::Approx(expected[step]).epsilon(1e-11));
    }
  }
}

}  // namespace hpcbench::train
