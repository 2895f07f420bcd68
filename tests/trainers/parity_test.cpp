#include "fakes/temporary_folder.hpp"
#include "trainers/dump.hpp"
#include "trainers/ranks.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

struct ParityCase {
  std::string strategy;
  int size = 1;
  std::vector<std::string> options;
  std::string mode = "exact";
};

/// Returns 30 steps in fp64 on global batches of 60.
Dump train_case(const ParityCase& parity) {
  const TemporaryFolder folder;
  std::vector<std::string> command = {program("trainer_parity_worker"),
                                      folder / "dump",
                                      parity.mode,
                                      "run",
                                      "--data",
                                      mnist_folder(),
                                      "--strategy",
                                      parity.strategy,
                                      "--precision",
                                      "fp64",
                                      "--global-batch",
                                      "60",
                                      "--max-steps",
                                      "30",
                                      "--batch-norm",
                                      "false",
                                      "--eval",
                                      "false"};
  command.insert(command.end(), parity.options.begin(), parity.options.end());
  for (const Ended& ended : run_ranks(folder.path(), parity.size, command)) {
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
  }
  return read_dumps(folder / "dump", parity.size);
}

/// Returns the largest relative difference of the tensors whose names begin with `prefix`.
double worst_difference(const Dump& a, const Dump& b, const std::string& prefix) {
  double worst = 0;
  int compared = 0;
  for (const auto& [name, tensor] : b.tensors) {
    if (name.rfind(prefix, 0) != 0) continue;
    worst = std::max(worst, relative_difference(a.tensors.at(name), tensor));
    ++compared;
  }
  REQUIRE(compared == 8);  // four of the LSTM, two of each linear layer
  return worst;
}

void check_ranks_identical(const Dump& dump) {
  for (const std::string& bytes : dump.bytes) CHECK((bytes == dump.bytes.front()));
}

const std::vector<std::string> kSgd = {"--optimizer", "sgd", "--lr", "0.05", "--momentum", "0.9", "--dropout", "0"};
const std::vector<std::string> kAdadelta = {"--optimizer", "adadelta", "--dropout", "0"};

}  // namespace

TEST_CASE("ddp equals the baseline: SGD, gradients and parameters") {
  const Dump baseline = train_case({"baseline", 1, kSgd});
  for (const int size : {1, 2, 3}) {
    CAPTURE(size);
    const Dump ddp = train_case({"ddp", size, kSgd});
    check_ranks_identical(ddp);
    CHECK(worst_difference(ddp, baseline, "gradient/1/") <= 1e-12);
    CHECK(worst_difference(ddp, baseline, "gradient/30/") <= 1e-12);
    CHECK(worst_difference(ddp, baseline, "state/") <= 1e-12);
  }
}

TEST_CASE("ddp equals the baseline: Adadelta, parameters") {
  const Dump baseline = train_case({"baseline", 1, kAdadelta});
  for (const int size : {1, 2, 3}) {
    CAPTURE(size);
    const Dump ddp = train_case({"ddp", size, kAdadelta});
    check_ranks_identical(ddp);
    CHECK(worst_difference(ddp, baseline, "state/") <= 1e-10);
  }
}

TEST_CASE("ddp equals the baseline with dropout, which depends on the place in the global batch only") {
  const std::vector<std::string> options = {"--optimizer", "sgd", "--lr", "0.05", "--momentum", "0.9"};
  const Dump baseline = train_case({"baseline", 1, options});
  const Dump ddp = train_case({"ddp", 2, options});
  check_ranks_identical(ddp);
  CHECK(worst_difference(ddp, baseline, "gradient/1/") <= 1e-12);
  CHECK(worst_difference(ddp, baseline, "state/") <= 1e-12);
  const Dump without = train_case({"baseline", 1, kSgd});
  CHECK(worst_difference(without, baseline, "gradient/1/") > 1e-3);
}

TEST_CASE("several buckets give what one gives") {
  std::vector<std::string> options = kSgd;
  options.insert(options.end(), {"--bucket-cap-mb", "0.01"});
  const Dump baseline = train_case({"baseline", 1, kSgd});
  const Dump ddp = train_case({"ddp", 2, options});
  check_ranks_identical(ddp);
  CHECK(worst_difference(ddp, baseline, "state/") <= 1e-12);
}

TEST_CASE("a forgotten division by the world size is noticed") {
  constexpr double kCaught = 100;
  const Dump sgd = train_case({"baseline", 1, kSgd});
  const Dump wrong_sgd = train_case({"ddp", 2, kSgd, "skip_division"});
  CHECK(worst_difference(wrong_sgd, sgd, "gradient/1/") == doctest::Approx(1.0).epsilon(1e-6));  // twice the gradient
  CHECK(worst_difference(wrong_sgd, sgd, "state/") > kCaught * 1e-12);
  const Dump adadelta = train_case({"baseline", 1, kAdadelta});
  const Dump wrong_adadelta = train_case({"ddp", 2, kAdadelta, "skip_division"});
  CHECK(worst_difference(wrong_adadelta, adadelta, "state/") > kCaught * 1e-10);
}

TEST_CASE("the same seed gives the same result bit for bit, another seed another one") {
  const std::vector<std::string> options = {"--precision", "fp32", "--max-steps", "10"};
  std::vector<std::string> other = options;
  other.insert(other.end(), {"--seed", "2"});
  const Dump first = train_case({"ddp", 2, options});
  CHECK((first.bytes == train_case({"ddp", 2, options}).bytes));
  CHECK((first.bytes != train_case({"ddp", 2, other}).bytes));
  CHECK((train_case({"baseline", 1, options}).bytes == train_case({"baseline", 1, options}).bytes));
}

}  // namespace hpcbench::train
