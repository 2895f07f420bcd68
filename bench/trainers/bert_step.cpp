// Times training steps of BERT beside the matrix products of its linear layers alone, interleaved.
//
//   bert_step_bench small|base padded|packed fp32|bf16 STEPS [THREADS] [cpu]
//
// With `cpu` the process's processor time is measured: with one thread this is what a busy machine still tells.
// small: 4 layers/256/4 heads/1024, 8 rows of 128; base: 12/768/12/3072, 4 rows of 384. Random weights and tokens, dropout 0.1,
// the trainer's AdamW. Lengths are exp(N(ln 160, 0.37)) clipped to 40..384 for base, a third of that for small; padded: all
// rows at the maximum. The products are those of the linear layers only, three a layer and matrix, at the sizes of the step
// before: 6 T L (4 H^2 + 2 H I) FLOP for T tokens, L layers, hidden size H, intermediate size I. Attention's products (12 L H
// times the sum of the rows' squared lengths) are our own kernels' and not timed alone: `products_by_step` leaves them out,
// `all_products_by_step` counts them at the rate of the others. One line of JSON.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <string>

#include "kernels/large_heap.hpp"
#include "optim/optimizer.hpp"
#include "tasks/bert_squad/bert.hpp"
#include "tasks/bert_squad/bert_products.hpp"

namespace hpcbench::train {

namespace {

bool bench_cpu_time = false;

double bench_now_ms() {
  if (bench_cpu_time) {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
  }
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct StepBench {
  BertConfig config;
  std::int64_t rows = 8;
  std::int64_t longest = 128;
  bool packed = false;
  std::mt19937_64 random{1};

  BertBatch batch(std::int64_t step) {
    std::normal_distribution<double> normal(std::log(160.0), 0.37);
    BertBatch batch;
    std::vector<std::int64_t> tokens;
    batch.row_begin = {0};
    for (std::int64_t row = 0; row < rows; ++row) {
      const double drawn = std::clamp(std::exp(normal(random)), 40.0, 384.0) * static_cast<double>(longest) / 384.0;
      const std::int64_t length = std::clamp<std::int64_t>(std::llround(drawn), 1, longest);
      const std::int64_t size = packed ? length : longest;
      for (std::int64_t token = 0; token < size; ++token) {
        tokens.push_back(token < length ? 1 + static_cast<std::int64_t>(random() % 30000) : 0);
      }
      batch.row_begin.push_back(std::ssize(tokens));
      batch.lengths.push_back(length);
      batch.places.push_back(step * rows + row);
      batch.starts.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length)));
      batch.ends.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length)));
    }
    batch.tokens = at::tensor(tokens, at::kLong);
    batch.types = at::zeros_like(batch.tokens);
    return batch;
  }
};

/// The three products of each linear layer, for `tokens` rows.
struct Products {
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes;  // out, in
  std::int64_t layers;
  at::ScalarType type;
  std::vector<at::Tensor> weights, weight_gradients;

  Products(const BertConfig& config, at::ScalarType scalar_type) : layers(config.num_hidden_layers), type(scalar_type) {
    const std::int64_t h = config.hidden_size, i = config.intermediate_size;
    shapes = {{3 * h, h}, {h, h}, {i, h}, {h, i}};
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      for (const auto& [out, in] : shapes) {
        weights.push_back(at::randn({out, in}).to(type));
        weight_gradients.push_back(at::empty({out, in}, type));
      }
    }
  }
  double flop(std::int64_t tokens) const {
    double sum = 0;
    for (const auto& [out, in] : shapes) sum += 6.0 * static_cast<double>(out * in);
    return sum * static_cast<double>(layers * tokens);
  }
  /// Returns the operations of attention's products, forward (2) and backward (4), without repeated computing.
  double attention_flop(const BertBatch& batch, const BertConfig& config) const {
    double squares = 0;
    for (std::size_t row = 0; row + 1 < batch.row_begin.size(); ++row) {
      const auto size = static_cast<double>(batch.row_begin[row + 1] - batch.row_begin[row]);
      squares += size * size;
    }
    return 12.0 * static_cast<double>(layers * config.hidden_size) * squares;
  }
  double run_ms(std::int64_t tokens) {
    const std::int64_t rows = bert_padded_rows(tokens);
    std::vector<at::Tensor> in, out, din;
    for (const auto& [n, k] : shapes) {
      in.push_back(at::ones({rows, k}, type));
      out.push_back(at::ones({rows, n}, type));
      din.push_back(at::ones({rows, k}, type));
    }
    const double start = bench_now_ms();
    for (std::size_t weight = 0; weight < weights.size(); ++weight) {
      const std::size_t shape = weight % shapes.size();
      bert_product(out[shape], in[shape], weights[weight].t());
      bert_product(din[shape], out[shape], weights[weight]);
      bert_product(weight_gradients[weight], out[shape].t(), in[shape]);
    }
    return bench_now_ms() - start;
  }
};

double bench_median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run_bench(const std::string& size, bool packed, bool bf16, std::int64_t steps) {
  StepBench bench;
  bench.packed = packed;
  bench.config = bert_config_of_size(size);
  if (size == "base") bench.rows = 4, bench.longest = 384;
  BertOptions options;
  options.bf16 = bf16;
  options.pad_in_softmax = !packed;
  Bert bert(bench.config, options, 1);
  // Like the strategy baseline.
  for (NamedTensor& parameter : bert.model().parameters) {
    if (parameter.touched) parameter.touched->trust();
  }
  Optimizer optimizer({OptimizerKind::adamw, 0, 0.01}, bert.model().parameters);
  Products products(bench.config, bf16 ? at::kBFloat16 : at::kFloat);
  std::vector<double> whole, passes, alone, rate;
  double loss = 0, sum_whole = 0, sum_passes = 0, sum_alone = 0, sum_all = 0;
  for (std::int64_t step = 0; step < steps + 3; ++step) {
    const BertBatch batch = bench.batch(step);
    const DropoutKey key{1, step};
    const double start = bench_now_ms();
    optimizer.clear_gradients();
    const at::Tensor mean = bert.loss(batch, bert.logits(batch, &key)).mean;
    mean.backward();
    const double middle = bench_now_ms();
    optimizer.step(5e-5);
    const double end = bench_now_ms();
    const double products_ms = products.run_ms(batch.row_begin.back());
    if (step < 3) continue;
    loss = mean.item<double>();
    whole.push_back(end - start);
    passes.push_back(middle - start);
    alone.push_back(products_ms);
    sum_whole += end - start, sum_passes += middle - start, sum_alone += products_ms;
    const double flop = products.flop(batch.row_begin.back());
    sum_all += products_ms * (1 + products.attention_flop(batch, bench.config) / flop);
    rate.push_back(flop / products_ms / 1e6);
  }
  // Postponed updates belong to the steps.
  const double late = bench_now_ms();
  optimizer.catch_up();
  const double catch_up_ms = bench_now_ms() - late;
  sum_whole += catch_up_ms;
  std::printf(
      "{\"size\":\"%s\",\"rows\":\"%s\",\"precision\":\"%s\",\"steps\":%lld,\"step_ms_min\":%.2f,\"step_ms_median\":%.2f,"
      "\"step_ms_mean\":%.2f,\"passes_ms_median\":%.2f,\"products_ms_median\":%.2f,\"products_gflops_median\":%.0f,"
      "\"catch_up_ms\":%.2f,\"products_by_passes\":%.3f,\"products_by_step\":%.3f,\"all_products_by_step\":%.3f,\"loss\":%.4f}"
      "\n",
      size.c_str(), packed ? "packed" : "padded", bf16 ? "bf16" : "fp32", static_cast<long long>(steps),
      *std::min_element(whole.begin(), whole.end()), bench_median(whole), sum_whole / static_cast<double>(steps),
      bench_median(passes), bench_median(alone), bench_median(rate), catch_up_ms, sum_alone / sum_passes, sum_alone / sum_whole,
      sum_all / sum_whole, loss);
  return 0;
}

}  // namespace

}  // namespace hpcbench::train

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 4) {
    std::fprintf(stderr, "usage: bert_step_bench small|base padded|packed fp32|bf16 STEPS [THREADS] [cpu]\n");
    return 2;
  }
  if (arguments.size() > 4) at::set_num_threads(std::atoi(arguments[4].c_str()));
  hpcbench::train::bench_cpu_time = arguments.size() > 5 && arguments[5] == "cpu";
  return hpcbench::train::run_bench(arguments[0], arguments[1] == "packed", arguments[2] == "bf16",
                                    std::atoll(arguments[3].c_str()));
}
