#include "trainers/squad_fixture.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

/// Returns parameters whose true gradient is zero, because a softmax ignores a shift: rounding noise, from which Adam makes
/// steps.
bool is_gauge(const std::string& name) {
  return name.find("key.bias") != std::string::npos || name.find("layer.1.output.LayerNorm.bias") != std::string::npos ||
         name.find("qa_outputs.bias") != std::string::npos;
}

/// Tensors whose names begin with `prefix`: all but the gauge parameters within `tolerance`, those below `gauge` of the
/// largest one (gradients) or as near as `gauge` (values).
void check_near(const Dump& a, const Dump& b, const std::string& prefix, double tolerance, double gauge) {
  int compared = 0;
  double largest = 0;
  for (const auto& [name, tensor] : b.tensors) {
    if (name.rfind(prefix, 0) == 0) largest = std::max(largest, tensor.norm().item<double>());
  }
  for (const auto& [name, tensor] : b.tensors) {
    if (name.rfind(prefix, 0) != 0) continue;
    ++compared;
    CAPTURE(name);
    const at::Tensor& other = a.tensors.at(name);
    if (!is_gauge(name)) {
      CHECK(relative_difference(other, tensor) <= tolerance);
    } else if (prefix.rfind("gradient", 0) == 0) {
      CHECK(other.norm().item<double>() <= gauge * largest);
    } else {
      CHECK((other - tensor).abs().max().item<double>() <= gauge);
    }
  }
  CHECK(compared == 39);  // 5 of the embeddings, 16 a layer, 2 of the head
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::vector<std::string> kSquadSgd = {"--optimizer", "sgd", "--lr", "0.05", "--momentum", "0.9", "--weight-decay", "0"};
const std::vector<std::string> kSixSteps = {"--max-steps", "6", "--global-batch", "6"};

}  // namespace

TEST_CASE("BERT: ddp equals the baseline, with dropout, SGD") {
  const SquadFixture fixture;
  const std::vector<std::string> options = joined(kSquadSgd, kSixSteps);
  const Dump baseline = fixture.train(1, options);
  for (const int size : {2, 3}) {
    CAPTURE(size);
    const Dump ddp = fixture.train(size, options);
    for (const std::string& bytes : ddp.bytes) CHECK((bytes == ddp.bytes.front()));
    check_near(ddp, baseline, "gradient/1/", 1e-12, 1e-12);
    check_near(ddp, baseline, "state/", 1e-12, 1e-12);
  }
  const Dump undropped = fixture.train(1, joined(options, {"--dropout", "0"}));
  CHECK(relative_difference(undropped.tensors.at("gradient/1/qa_outputs.weight"),
                            baseline.tensors.at("gradient/1/qa_outputs.weight")) > 1e-3);
  const Dump wrong = fixture.train(2, options, "skip_division");
  CHECK(relative_difference(wrong.tensors.at("gradient/1/qa_outputs.weight"),
                            baseline.tensors.at("gradient/1/qa_outputs.weight")) == doctest::Approx(1.0).epsilon(1e-6));
}

TEST_CASE("BERT: ddp equals the baseline, AdamW with clipping and a linear schedule") {
  const SquadFixture fixture;
  const std::vector<std::string> options =
      joined(kSixSteps, {"--lr", "1e-3", "--clip", "0.5", "--schedule", "linear", "--warmup-steps", "2"});
  const Dump baseline = fixture.train(1, options);
  const Dump ddp = fixture.train(2, options);
  check_near(ddp, baseline, "gradient/1/", 1e-12, 1e-12);
  check_near(ddp, baseline, "state/", 1e-10, 2 * 1e-3 * 6);
}

TEST_CASE("accumulation equals one large batch, on one rank and on two") {
  const SquadFixture fixture;
  const std::vector<std::string> options = joined(kSquadSgd, {"--max-steps", "4"});
  const Dump whole = fixture.train(1, joined(options, {"--batch-size", "12"}));
  const Dump parts = fixture.train(1, joined(options, {"--batch-size", "4", "--accumulate", "3"}));
  check_near(parts, whole, "gradient/1/", 1e-12, 1e-12);
  check_near(parts, whole, "state/", 1e-12, 1e-12);
  const Dump spread = fixture.train(2, joined(options, {"--batch-size", "2", "--accumulate", "3"}));
  check_near(spread, whole, "state/", 1e-12, 1e-12);
}

TEST_CASE("an incomplete last step: by its real length, by the nominal one, or by samples") {
  const SquadFixture fixture;
  // 10 samples: micro-batches of 4, 4 and 2. One step of three instead of four.
  const std::vector<std::string> options =
      joined(kSquadSgd, {"--max-steps", "1", "--max-train-examples", "10", "--shuffle", "false", "--dropout", "0"});
  const std::vector<std::string> four = {"--batch-size", "4", "--accumulate", "4"};
  const auto gradient = [&](const std::vector<std::string>& more) {
    return fixture.train(1, joined(options, more)).tensors.at("gradient/1/qa_outputs.weight");
  };
  const at::Tensor whole = gradient({"--batch-size", "10"});
  CHECK(relative_difference(gradient(joined(four, {"--loss-average", "global"})), whole) <= 1e-12);
  const at::Tensor real = gradient(four);
  CHECK(relative_difference(real, whole) > 1e-3);
  CHECK(relative_difference(gradient(joined(four, {"--accumulate-by", "nominal"})) * 4 / 3, real) <= 1e-12);
}

TEST_CASE("without padding in the softmax all paddings agree") {
  const SquadFixture fixture;
  const std::vector<std::string> options = joined(joined(kSquadSgd, kSixSteps), {"--pad-in-softmax", "false"});
  const Dump packed = fixture.train(1, joined(options, {"--padding", "none"}));
  for (const char* padding : {"max", "longest"}) {
    CAPTURE(padding);
    const Dump padded = fixture.train(1, joined(options, {"--padding", padding}));
    check_near(padded, packed, "gradient/1/", 1e-10, 1e-10);
    check_near(padded, packed, "state/", 1e-10, 1e-10);
  }
  // Grouping by length only changes the order: with all samples in one batch it does not matter.
  const std::vector<std::string> one =
      joined(kSquadSgd, {"--pad-in-softmax", "false", "--max-steps", "1", "--batch-size", "100", "--dropout", "0"});
  check_near(fixture.train(1, joined(one, {"--padding", "grouped"})), fixture.train(1, joined(one, {"--padding", "none"})),
             "gradient/1/", 1e-10, 1e-10);
  const Dump competing = fixture.train(1, joined(joined(kSquadSgd, kSixSteps), {"--padding", "max"}));
  CHECK(relative_difference(competing.tensors.at("gradient/1/qa_outputs.weight"),
                            packed.tensors.at("gradient/1/qa_outputs.weight")) > 1e-3);
}

TEST_CASE("BERT by LibTorch's operators equals our own kernels: one rank, and two that shard") {
  const SquadFixture fixture;
  const std::vector<std::string> options = joined(kSquadSgd, kSixSteps);
  const std::vector<std::string> torch = joined(options, {"--kernels", "torch"});
  const Dump own = fixture.train(1, options);
  check_near(fixture.train(1, torch), own, "gradient/1/", 1e-10, 1e-10);
  check_near(fixture.train(1, torch), own, "state/", 1e-10, 1e-10);
  for (const char* strategy : {"ddp", "zero2", "fsdp"}) {
    CAPTURE(strategy);
    const Dump spread = fixture.train(2, joined(torch, {"--strategy", strategy}));
    check_near(spread, own, "gradient/1/", 1e-10, 1e-10);
    check_near(spread, own, "state/", 1e-10, 1e-10);
  }
  const Dump adamw = fixture.train(1, joined(kSixSteps, {"--lr", "1e-3", "--clip", "0.5"}));
  const Dump adamw_by_torch = fixture.train(1, joined(kSixSteps, {"--lr", "1e-3", "--clip", "0.5", "--kernels", "torch"}));
  check_near(adamw_by_torch, adamw, "state/", 1e-10, 2 * 1e-3 * 6);
}

}  // namespace hpcbench::train
