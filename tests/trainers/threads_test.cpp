// Whole runs: the results do not depend on the number of threads.

#include "trainers/squad_fixture.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

/// Returns the bytes of gradients, parameters and optimiser state that
/// trainer_parity_worker writes of a run with so many threads.
std::string bytes_with(int threads, const std::filesystem::path& folder, const std::vector<std::string>& options) {
  std::vector<std::string> command = {program("trainer_parity_worker"), (folder / "dump").string(), "exact"};
  command.insert(command.end(), options.begin(), options.end());
  const Ended ended = run_alone(folder, command, {{"OMP_NUM_THREADS", std::to_string(threads)}});
  INFO(ended.err);
  REQUIRE(ended.exit_code == 0);
  return slurp(folder / "dump.0");
}

void check_same_with_any_threads(const std::filesystem::path& folder, const std::vector<std::string>& options) {
  const std::string one = bytes_with(1, folder, options);
  REQUIRE(one.size() > 1000);
  for (const int threads : {2, 3, 4}) {
    CAPTURE(threads);
    const bool same = bytes_with(threads, folder, options) == one;
    CHECK(same);
  }
}

}  // namespace

TEST_CASE("BERT with AdamW, dropout on: the same bits with 1, 2, 3 and 4 threads") {
  const SquadFixture fixture;
  const std::vector<std::vector<std::string>> cuts = {{"--padding", "max"}, {"--padding", "none", "--pad-in-softmax", "false"}};
  for (const std::string precision : {"fp64", "fp32", "bf16"}) {
    for (const std::vector<std::string>& cut : cuts) {
      CAPTURE(precision);
      CAPTURE(cut[1]);
      std::vector<std::string> options = fixture.options({"--strategy", "baseline", "--eval", "false", "--max-steps", "3",
                                                          "--batch-size", "6", "--lr", "1e-3", "--precision", precision});
      options.insert(options.end(), cut.begin(), cut.end());
      check_same_with_any_threads(fixture.folder(), options);
    }
  }
}

TEST_CASE(
    "mnist_rnn, dropout on: 1, 2, 3 and 4 threads differ in nothing but "
    "the products' rounding") {
  // LibTorch's products of these shapes split their sums by the number of threads.
  const TemporaryFolder folder;
  const std::vector<std::string> options = {"run",    "--data",      mnist_folder(), "--strategy", "baseline",
                                            "--eval", "false",       "--max-steps",  "2",          "--batch-size",
                                            "64",     "--precision", "fp64"};
  bytes_with(1, folder.path(), options);
  const Dump one = read_dumps(folder / "dump", 1);
  for (const int threads : {2, 3, 4}) {
    CAPTURE(threads);
    bytes_with(threads, folder.path(), options);
    const Dump other = read_dumps(folder / "dump", 1);
    REQUIRE(other.tensors.size() == one.tensors.size());
    for (const auto& [name, tensor] : one.tensors) {
      CAPTURE(name);
      CHECK(relative_difference(other.tensors.at(name), tensor) <= 1e-11);
    }
  }
}

}  // namespace hpcbench::train
