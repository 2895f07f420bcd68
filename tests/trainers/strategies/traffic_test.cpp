#include <cstdio>

#include "fakes/temporary_folder.hpp"
#include "trainers/ranks.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

/// Returns a number of the last event of a file.
double field_of(const std::string& events, const std::string& name) {
  const std::size_t end = events.rfind("\"run_end\"");
  REQUIRE(end != std::string::npos);
  const std::string key = '"' + name + "\":";
  const std::size_t at = events.find(key, end);
  REQUIRE_MESSAGE(at != std::string::npos, name);
  return std::stod(events.substr(at + key.size()));
}

struct Measured {
  double by_strategy = 0;  // bytes a step, by the strategy's count
  double by_kernel = 0;    // by the kernel's count
  double steps = 0;
};

Measured train_processes(const std::string& strategy, int ranks) {
  constexpr int kTrafficSteps = 60;
  const TemporaryFolder folder;
  const std::vector<std::string> command = {program("hpcbench-train"),
                                            "run",
                                            "--task",
                                            "mnist_rnn",
                                            "--data",
                                            mnist_folder(),
                                            "--strategy",
                                            strategy,
                                            "--optimizer",
                                            "adamw",
                                            "--batch-norm",
                                            "false",
                                            "--eval",
                                            "false",
                                            "--batch-size",
                                            "8",
                                            "--max-steps",
                                            std::to_string(kTrafficSteps),
                                            "--events",
                                            folder / "events.jsonl"};
  for (const Ended& ended : run_ranks(folder.path(), ranks, command)) {
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
  }
  const std::string events = slurp(folder / "events.jsonl");
  CHECK(field_of(events, "communication_exposed_s") > 0);
  CHECK(field_of(events, "peak_activation_bytes") > 0);
  CHECK(field_of(events, "imbalance") >= 1);
  CHECK(field_of(events, "compute_max_s") >= field_of(events, "compute_s"));
  // Every rank reports its own computing time, and all agree on the statistics over the ranks.
  double mean_s = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string own = slurp(rank == 0 ? folder / "events.jsonl" : folder / "events.jsonl." + std::to_string(rank));
    mean_s += field_of(own, "compute_s") / ranks;
    CHECK(field_of(own, "compute_max_s") == field_of(events, "compute_max_s"));
  }
  CHECK(field_of(events, "compute_mean_s") == doctest::Approx(mean_s).epsilon(1e-6));
  return {field_of(events, "bytes_sent_per_step"), field_of(events, "socket_bytes_sent") / kTrafficSteps, kTrafficSteps};
}

}  // namespace

TEST_CASE("processes send as much as the formulas state, by the kernel's count, too") {
  constexpr double kLstm = 4 * 64 * 28 + 4 * 64 * 64 + 2 * 4 * 64, kMiddle = 64 * 32 + 32, kLast = 32 * 10 + 10;
  for (const int ranks : {2, 4}) {
    const double once = 4.0 * (ranks - 1) / ranks;
    const std::vector<std::pair<std::string, double>> expected = {{"ddp", 2 * once * (kLstm + kMiddle + kLast)},
                                                                  {"zero1", 2 * once * (kLstm + kMiddle + kLast)},
                                                                  {"zero2", 2 * once * (kLstm + kMiddle + kLast)},
                                                                  {"fsdp", once * (3 * kLstm + 3 * kMiddle + 2 * kLast)}};
    for (const auto& [strategy, bytes] : expected) {
      CAPTURE(strategy);
      CAPTURE(ranks);
      const Measured measured = train_processes(strategy, ranks);
      std::printf("%s, %d processes: %.0f bytes a step by the strategy, %.0f by the kernel, %.0f by the formula\n",
                  strategy.c_str(), ranks, measured.by_strategy, measured.by_kernel, bytes);
      CHECK(measured.by_strategy == doctest::Approx(bytes).epsilon(0.05));
      CHECK(measured.by_kernel == doctest::Approx(bytes).epsilon(0.05));
    }
  }
}

}  // namespace hpcbench::train
