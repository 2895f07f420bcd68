// BERT's kernels for GPUs, run on a CPU, against LibTorch's operators in fp64, and the whole model with them.

#include <ATen/ops/from_blob.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <sys/mman.h>
#include <unistd.h>

#include <limits>

#include "base/error.hpp"
#include "bert_testing.hpp"
#include "cpu_bert_program.hpp"
#include "tasks/bert_squad/bert_gpu_rows.hpp"
#include "tasks/bert_squad/bert_masks.hpp"

namespace hpcbench::train {

namespace {

struct GpuCase {
  std::int64_t hidden;
  bool bf16;
  double tolerance() const { return bf16 ? 4e-3 : 1e-6; }  // half a unit of bf16, in norm; some of fp32
  double sum_tolerance() const { return bf16 ? 1e-2 : 2e-6; }
  at::ScalarType type() const { return bf16 ? at::kBFloat16 : at::kFloat; }
};

const std::vector<GpuCase> kGpuCases = {{72, false}, {264, false}, {72, true}, {1024, true}};

at::Tensor random_tensor(std::vector<std::int64_t> sizes, const GpuCase& gpu, std::uint64_t seed) {
  return at::empty(sizes, at::kDouble).normal_(0.3, 1, at::detail::createCPUGenerator(seed)).to(gpu.type());
}

/// Returns a copy that ends where readable memory does.
at::Tensor at_end_of_memory(const at::Tensor& tensor) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = tensor.nbytes(), pages = (bytes + page - 1) / page * page;
  void* const memory = mmap(nullptr, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  REQUIRE(mprotect(static_cast<char*>(memory) + pages, page, PROT_NONE) == 0);
  at::Tensor copy = at::from_blob(
      static_cast<char*>(memory) + pages - bytes, tensor.sizes(), [=](void*) { munmap(memory, pages + page); },
      tensor.options());
  return copy.copy_(tensor);
}

double apart(const at::Tensor& found, const at::Tensor& expected) {
  return relative_difference(found.to(at::kDouble), expected.to(at::kDouble));
}

GpuDropout gpu_dropout(std::int64_t rows, double rate) {
  std::vector<std::int64_t> keys;
  for (std::int64_t row = 0; row < rows; ++row) keys.push_back(static_cast<std::int64_t>(kernels::token_key(row / 7, row % 7)));
  // As in a model: the keys of all its sites, of which the site's own is the last.
  const kernels::DropoutSite site = kernels::dropout_site(5, 3, 2, rate);
  return {site, at::tensor(keys), at::tensor({std::int64_t{1}, std::int64_t{2}, static_cast<std::int64_t>(site.key)})};
}

at::Tensor mask_of(const GpuDropout& dropout, std::int64_t hidden) {
  std::vector<std::uint64_t> keys;
  for (std::int64_t row = 0; row < dropout.token_keys.size(0); ++row) {
    const auto token = static_cast<std::uint64_t>(dropout.token_keys.data_ptr<std::int64_t>()[row]);
    keys.push_back(kernels::row_key(dropout.site, token));
  }
  return bert_mask(dropout.site, keys, hidden, at::kDouble, at::kCPU);
}

}  // namespace

TEST_CASE("GPU kernels: dropout, residual and normalisation, forward and backward, are those of fp64") {
  constexpr double kEps = 0.05;  // so large that it shows
  for (const GpuCase& gpu : kGpuCases) {
    for (const std::int64_t rows : {1, 5, 37, 150}) {
      for (const double rate : {0.0, 0.25}) {
        INFO("hidden ", gpu.hidden, " ", "bf16 ", gpu.bf16, " ", "rows ", rows, " ", "rate ", rate);
        const BertGpuRows kernels(cpu_bert_program(gpu.hidden, gpu.bf16));
        const GpuDropout dropout = gpu_dropout(rows, rate);
        const at::Tensor x = random_tensor({rows, gpu.hidden}, gpu, 1), residual = random_tensor({rows, gpu.hidden}, gpu, 2);
        // Like parameters of a strategy's flat tensor, which begin anywhere.
        const at::Tensor gamma = random_tensor({gpu.hidden + 1}, gpu, 3).narrow(0, 1, gpu.hidden);
        const at::Tensor beta = random_tensor({gpu.hidden + 3}, gpu, 4).narrow(0, 3, gpu.hidden);
        const at::Tensor mask = mask_of(dropout, gpu.hidden);
        const at::Tensor sum = (x.to(at::kDouble) * mask + residual.to(at::kDouble)).to(gpu.type());
        const at::Tensor wide_sum = sum.to(at::kDouble), wide_gamma = gamma.to(at::kDouble), wide_beta = beta.to(at::kDouble);
        const auto [y, mean, reciprocal] = at::native_layer_norm(wide_sum, {gpu.hidden}, wide_gamma, wide_beta, kEps);
        const GpuNorm made = kernels.norm(x, residual, gamma, beta, dropout, kEps);
        CHECK(made.sum.is_same(x));
        CHECK(apart(made.sum, sum) <= gpu.tolerance());
        CHECK(apart(made.y, y) <= gpu.tolerance());
        CHECK(apart(made.statistics[0], mean.flatten()) <= 1e-2);  // of a sum that rounds like the kernel's, up to ties
        CHECK(apart(made.statistics[1], reciprocal.flatten()) <= 1e-2);

        const at::Tensor towards = at_end_of_memory(random_tensor({rows, gpu.hidden}, gpu, 5)),
                         wide_towards = towards.to(at::kDouble);
        const auto [of_sum, of_gamma, of_beta] = at::native_layer_norm_backward(
            wide_towards, wide_sum, {gpu.hidden}, mean, reciprocal, wide_gamma, wide_beta, {true, true, true});
        const GpuNormGradients of = kernels.norm_backward(towards, made, gamma, dropout);
        CHECK(apart(of.of_sum, of_sum) <= gpu.tolerance());
        CHECK(apart(of.of_x, of_sum * mask) <= gpu.tolerance());
        CHECK(of.of_x.is_same(of.of_sum) == (rate == 0));
        const at::Tensor sums = kernels.sums({of.partial});
        CHECK((sums.scalar_type() == at::kFloat));
        const std::vector<at::Tensor> parts = sums.split(gpu.hidden);
        CHECK(apart(parts[0], of_gamma) <= gpu.sum_tolerance());
        CHECK(apart(parts[1], of_beta) <= gpu.sum_tolerance());
        CHECK(apart(parts[2], (of_sum * mask).sum(0)) <= gpu.sum_tolerance());
      }
    }
  }
}

TEST_CASE("GPU kernels: what dropout drops is what the kernels for CPUs drop") {
  const GpuCase gpu{72, false};
  const GpuDropout dropout = gpu_dropout(9, 0.5);
  const BertGpuRows kernels(cpu_bert_program(gpu.hidden, gpu.bf16));
  const at::Tensor x = at::ones({9, gpu.hidden});
  const GpuNorm made =
      kernels.norm(x, at::zeros({9, gpu.hidden}), at::ones({gpu.hidden}), at::zeros({gpu.hidden}), dropout, 1e-12);
  CHECK(made.sum.to(at::kDouble).equal(mask_of(dropout, gpu.hidden)));
}

TEST_CASE("GPU kernels: GELU's derivative and the sums of its columns are those of fp64") {
  for (const GpuCase& gpu : kGpuCases) {
    for (const std::int64_t rows : {1, 9, 70}) {
      INFO("hidden ", gpu.hidden, " ", "bf16 ", gpu.bf16, " ", "rows ", rows);
      const BertGpuRows kernels(cpu_bert_program(gpu.hidden, gpu.bf16));
      const at::Tensor x = random_tensor({rows, 2 * gpu.hidden}, gpu, 1),
                       towards = random_tensor({rows, 2 * gpu.hidden}, gpu, 2);
      const at::Tensor expected = at::gelu_backward(towards.to(at::kDouble), x.to(at::kDouble));
      const GpuSummed of = kernels.gelu_backward(towards, x);
      CHECK(apart(of.matrix, expected) <= gpu.tolerance());
      CHECK(apart(kernels.sums({of.partial}), expected.sum(0)) <= gpu.sum_tolerance());
    }
  }
}

TEST_CASE("GPU kernels: three matrices stand beside each other, with the sums of their columns") {
  for (const GpuCase& gpu : kGpuCases) {
    for (const std::int64_t rows : {1, 9, 70}) {
      INFO("hidden ", gpu.hidden, " ", "bf16 ", gpu.bf16, " ", "rows ", rows);
      const BertGpuRows kernels(cpu_bert_program(gpu.hidden, gpu.bf16));
      const at::Tensor expected = random_tensor({rows, 3 * gpu.hidden}, gpu, 1);
      const auto part = [&](std::int64_t number) { return expected.narrow(1, number * gpu.hidden, gpu.hidden); };
      const GpuSummed apart_before = kernels.join({part(0).contiguous(), part(1).contiguous(), part(2).contiguous()});
      const GpuSummed beside_before = kernels.join({part(0), part(1), part(2)});
      CHECK(apart_before.matrix.equal(expected));
      CHECK(beside_before.matrix.equal(expected));
      CHECK(beside_before.matrix.is_alias_of(expected));
      for (const at::Tensor& each : kernels.sums({apart_before.partial, beside_before.partial}).chunk(2))
        CHECK(apart(each, expected.to(at::kDouble).sum(0)) <= 1e-5);
    }
  }
}

TEST_CASE("GPU kernels: partial sums of several widths are added up by one launch") {
  const auto program = cpu_bert_program(72, false);
  const BertGpuRows kernels(program);
  std::vector<at::Tensor> partial;
  for (const std::int64_t columns : {8, 33, 216, 40}) {
    const std::int64_t count = columns == 33 ? 1 : columns + 3;
    partial.push_back(
        at::empty({count, columns}).normal_(0, 1, at::detail::createCPUGenerator(static_cast<std::uint64_t>(columns))));
  }
  const std::vector<at::Tensor> sums = kernels.sums(partial).split_with_sizes({8, 33, 216, 40});
  for (std::size_t number = 0; number < sums.size(); ++number)
    CHECK(apart(sums[number], partial[number].to(at::kDouble).sum(0)) <= 1e-6);
  CHECK(program->launched().size() == 1);
}

TEST_CASE("GPU kernels: GELU's derivative is right to fp32's precision wherever it is taken") {
  const GpuCase gpu{72, false};
  const BertGpuRows kernels(cpu_bert_program(gpu.hidden, gpu.bf16));
  at::Tensor x = at::linspace(-12, 12, 20 * gpu.hidden).view({20, gpu.hidden});
  x[0][0] = -std::numeric_limits<float>::max();
  x[0][1] = std::numeric_limits<float>::max();
  x[0][2] = 0;
  const at::Tensor wide = x.to(at::kDouble);
  at::Tensor expected = at::gelu_backward(at::ones_like(wide), wide);
  const at::Tensor found = kernels.gelu_backward(at::ones_like(x), x).matrix;
  CHECK((found.to(at::kDouble) - expected).abs().max().item<double>() <= 4e-7);
}

TEST_CASE("GPU kernels: rounding to bf16 is LibTorch's, ties and what is no number too") {
  const GpuCase gpu{72, true};
  const BertGpuRows kernels(cpu_bert_program(gpu.hidden, gpu.bf16));
  // A sum of two bf16 numbers lies between two others as often as not.
  at::Tensor x = random_tensor({64, gpu.hidden}, gpu, 1), residual = random_tensor({64, gpu.hidden}, gpu, 2).mul_(0.01);
  x[0][0] = std::numeric_limits<float>::quiet_NaN();
  x[1][1] = std::numeric_limits<float>::infinity();
  x[2][2] = std::numeric_limits<float>::max();
  residual[2][2] = std::numeric_limits<float>::max();
  const at::Tensor expected = (x.to(at::kFloat) + residual.to(at::kFloat)).to(at::kBFloat16);
  const GpuNorm made =
      kernels.norm(x, residual, at::ones({gpu.hidden}, at::kBFloat16), at::zeros({gpu.hidden}, at::kBFloat16), {}, 1e-12);
  CHECK(made.sum.to(at::kFloat).nan_to_num(7).equal(expected.to(at::kFloat).nan_to_num(7)));
}

TEST_CASE("GPU kernels: the whole model with them equals the plain one, dropout on and off, padded and packed") {
  BertConfig config = tiny_bert_config();
  config.hidden_size = 72;
  config.num_attention_heads = 3;
  config.intermediate_size = 136;
  const DropoutKey key{123, 4};
  for (const DropoutKey* dropout : {static_cast<const DropoutKey*>(nullptr), &key}) {
    for (const std::int64_t padded_to : {0, 40}) {
      for (const bool bf16 : {false, true}) {
        INFO("dropout ", dropout != nullptr, " ", "padded_to ", padded_to, " ", "bf16 ", bf16);
        const BertBatch batch = random_batch(config, {17, 1, 33, 40, 5}, padded_to);
        BertOptions options;
        options.attention = Attention::operators;
        options.bf16 = bf16;
        Bert reference(config, options, 7);
        perturb(reference, 0.2, 3);
        const BertOutcome expected = run_step(reference, batch, dropout);
        const auto program = cpu_bert_program(config.hidden_size, bf16);
        options.gpu_program = program;
        Bert bert(config, options, 7);
        perturb(bert, 0.2, 3);
        const BertOutcome outcome = run_step(bert, batch, dropout);
        check_same_outcome(outcome, expected, bf16 ? 6e-2 : 1e-5, bf16 ? 6e-2 : 1e-5);
        // Per layer: two normalisations forward and two backward, GELU backward, one that joins, one that adds up.
        CHECK(program->launched().size() == static_cast<std::size_t>(7 * config.num_hidden_layers));
      }
    }
  }
}

TEST_CASE("GPU kernels: sizes that they do not take are refused, with the way out") {
  const auto refusal = [](std::int64_t hidden, std::int64_t intermediate) -> std::string {
    BertConfig config = tiny_bert_config();
    config.hidden_size = hidden;
    config.intermediate_size = intermediate;
    try {
      compile_bert_kernels(config, true);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal(100, 400) ==
        "error: hidden_size is 100, but the trainer's kernels for GPUs take multiples of 8: choose `kernels: torch`");
  CHECK(refusal(96, 404) ==
        "error: intermediate_size is 404, but the trainer's kernels for GPUs take multiples of 8: choose `kernels: torch`");
  CHECK(refusal(2048, 400) ==
        "error: hidden_size is 2048, but the trainer's kernels for GPUs take at most 1024: choose `kernels: torch`");
}

}  // namespace hpcbench::train
