// usage: strategy_matrix [--long] [--task NAME] [--strategy NAME] [--resume-only] [--exchange NAME]
// Every strategy of the table, as processes of 1 to 4 ranks over Gloo (dp: 1 to 4 devices), against the baseline on the same
// global batches: mnist_rnn without BatchNorm and bert_squad of the size tiny, in fp64, 20 steps. Compared are the averaged
// gradient of the first step, its norm and the parameters at the end; all ranks, and a second run, must be identical bit for
// bit; with three buckets or units and more the first sum must begin before backward has ended, from step 3 on; a checkpoint of
// each strategy, whole or in shards, continues in the others at other numbers of ranks. --long (or HPCBENCH_LONG=1): all
// combinations of AdamW or SGD, weight decay, clipping, accumulation, dropout; else a few. --resume-only: only trainings that
// continue a checkpoint.
// --exchange: the setting of that name, for the strategies of several processes. One line a training; exit code 1 if one is not
// as it must be.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/text.hpp"
#include "fakes/temporary_folder.hpp"
#include "forked_run.hpp"
#include "matrix_cases.hpp"

namespace {

using namespace hpcbench::train;

constexpr double kTolerance = 1e-12;

struct Arguments {
  bool all = std::getenv("HPCBENCH_LONG") != nullptr;
  std::string task;      // empty: both
  std::string strategy;  // empty: all
  std::string exchange;  // empty: unchanged, without the setting
  bool resume_only = false;
};

/// Returns parameters whose true gradient is zero, because a softmax ignores a shift: rounding noise, from which Adam makes
/// steps.
bool is_gauge(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  return has("key.bias") || has("layer.1.output.LayerNorm.bias") || has("qa_outputs.bias");
}

double norm_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double sum = 0;
  for (std::size_t index = 0; index < a.size(); ++index) sum += (a[index] - b[index]) * (a[index] - b[index]);
  return std::sqrt(sum);
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t index = 0; index < b.size(); ++index) largest = std::max(largest, std::abs(a[index] - b[index]));
  return largest;
}

double or_infinity(double ratio) { return std::isfinite(ratio) ? ratio : INFINITY; }

/// Largest ||a - b|| / (tolerance ||b||) over the tensors; gauge gradients in terms of the largest gradient.
double worst_gradient(const Outcome& result, const Outcome& reference) {
  double largest = 0;
  for (const auto& [name, values] : reference.gradients) largest = std::max(largest, norm_of(values));
  double worst = reference.gradients.empty() || result.gradients.size() != reference.gradients.size() ? INFINITY : 0;
  for (const auto& [name, b] : reference.gradients) {
    const double scale = is_gauge(name) ? largest : norm_of(b);
    worst = std::max(worst, or_infinity(distance(result.gradients.at(name), b) / (kTolerance * (scale > 0 ? scale : 1))));
  }
  return worst;
}

/// The same of the parameters; gauge parameters may be 2 lr steps apart.
double worst_state(const Outcome& result, const Outcome& reference, double lr) {
  double worst = reference.state.empty() || result.state.size() != reference.state.size() ? INFINITY : 0;
  for (const auto& [name, b] : reference.state) {
    const std::vector<double>& a = result.state.at(name);
    const double ratio = is_gauge(name) ? largest_difference(a, b) / (2 * lr * kMatrixSteps)
                                        : distance(a, b) / (kTolerance * (norm_of(b) > 0 ? norm_of(b) : 1));
    worst = std::max(worst, or_infinity(ratio));
  }
  return worst;
}

class Matrix {
 public:
  explicit Matrix(Arguments arguments) : arguments_(std::move(arguments)) { write_questions(folder_.path()); }

  void run_task(const std::string& task) {
    if (!arguments_.resume_only) {
      for (const Choice& choice : choices_of(task, arguments_.all)) compare_strategies(choice);
    }
    continue_in_others({task, false, false, true, true, true});
    if (arguments_.all) continue_in_others({task, true, true, false, false, true});
  }

  int report() const {
    const double took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    std::printf("Ran %d tests in %.0f s: %d failed; at worst %.2g (gradients) and %.2g (parameters) of the tolerance %.0e\n",
                compared_, took_s, failed_, worst_gradient_, worst_state_, kTolerance);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  std::vector<std::string> strategies() const {
    if (!arguments_.strategy.empty()) return {arguments_.strategy};
    return strategies_of_table();
  }

  /// In the short form two of 1 to 4, which differ between strategies.
  std::vector<int> ranks_of(std::size_t strategy) const {
    if (arguments_.all) return {1, 2, 3, 4};
    const int first = 1 + static_cast<int>((strategy + static_cast<std::size_t>(compared_)) % 2);
    return {first, first + 2};
  }

  Outcome train(const Choice& choice, const std::string& strategy, int ranks, const std::vector<std::string>& more = {}) {
    std::vector<std::string> options = options_of(choice, folder_.path());
    const std::vector<std::string> own = options_of_strategy(strategy, ranks);
    options.insert(options.end(), own.begin(), own.end());
    options.insert(options.end(), more.begin(), more.end());
    const bool one = strategy == "baseline" || !has_several_processes(strategy);
    if (!one && !arguments_.exchange.empty()) options.insert(options.end(), {"--exchange", arguments_.exchange});
    return run_forked(folder_.path(), one ? 1 : ranks, options);
  }

  void compare_strategies(const Choice& choice) {
    // On whole batches: the test includes that accumulation changes nothing.
    Choice whole = choice;
    whole.accumulate = false;
    const Outcome baseline = train(whole, "baseline", 1);
    const std::vector<std::string> names = strategies();
    for (std::size_t index = 0; index < names.size(); ++index) {
      const std::vector<int> all = ranks_of(index);
      for (const int ranks : all) {
        const Outcome result = train(choice, names[index], ranks);
        const bool again = ranks == all.back() && result.error.empty();
        const bool same_again = !again || train(choice, names[index], ranks).hashes == result.hashes;
        judge(concat(names[index], " ", ranks, ", ", words_of(choice)), result, baseline, learning_rate_of(choice), true,
              same_again);
      }
    }
  }

  /// Ten steps in each strategy, the other ten in another one, and in baseline.
  void continue_in_others(const Choice& choice) {
    const Outcome baseline = train(choice, "baseline", 1);
    std::vector<std::string> names = strategies();
    names.emplace_back("baseline");
    for (std::size_t first = 0; first < names.size(); ++first) {
      // In the short form checkpoints in shards alternate with whole ones.
      if (arguments_.all || first % 2 == 0) continue_from(choice, names, first, "sharded", baseline);
      if (arguments_.all || first % 2 == 1) continue_from(choice, names, first, "whole", baseline);
    }
  }

  void continue_from(const Choice& choice, const std::vector<std::string>& names, std::size_t first, const std::string& format,
                     const Outcome& baseline) {
    const std::string output = folder_ / "output";
    const int ranks = 1 + static_cast<int>((first + 1) % 4);
    const Outcome begun =
        train(choice, names[first], ranks,
              {"--max-steps", "10", "--checkpoint", "last", "--checkpoint-format", format, "--output", output});
    for (std::size_t second = 0; second < names.size(); ++second) {
      if (!arguments_.all && second != (first + 1) % names.size()) continue;
      const int ranks_then = 1 + static_cast<int>((first + 2 * second + 2) % 4);
      const std::string words = concat(names[first], " ", ranks, " continues as ", names[second], " ", ranks_then, ", ", format,
                                       ", ", words_of(choice));
      const Outcome result =
          begun.error.empty() ? train(choice, names[second], ranks_then, {"--resume", output + "/checkpoint"}) : begun;
      judge(words, result, baseline, learning_rate_of(choice), false, true);
    }
    std::filesystem::remove_all(output);
  }

  void judge(const std::string& words, const Outcome& result, const Outcome& baseline, double lr, bool from_first_step,
             bool same_again) {
    ++compared_;
    const bool ended = result.error.empty() && baseline.error.empty();
    const double gradient = ended && from_first_step ? worst_gradient(result, baseline) : 0;
    const double state = ended ? worst_state(result, baseline, lr) : INFINITY;
    const bool norm = !ended || !from_first_step || std::abs(result.norm - baseline.norm) <= kTolerance * baseline.norm;
    const bool ranks_agree = ended && std::all_of(result.hashes.begin(), result.hashes.end(),
                                                  [&](std::uint64_t h) { return h == result.hashes[0]; });
    const bool overlapped = !ended || !from_first_step || result.hashes.size() < 2 || result.units < 3 ||
                            result.overlapped_steps >= kMatrixSteps - 2;
    const bool well = ended && gradient <= 1 && state <= 1 && norm && ranks_agree && same_again && overlapped;
    failed_ += !well;
    worst_gradient_ = std::max(worst_gradient_, gradient);
    worst_state_ = std::max(worst_state_, state);
    std::printf("%s  %s: gradient %.1e, parameters %.1e of the tolerance%s%s%s%s\n", well ? "ok    " : "FAILED", words.c_str(),
                gradient, state, norm ? "" : ", another norm", ranks_agree || !ended ? "" : ", ranks differ",
                same_again ? "" : ", a second run differs", overlapped ? "" : ", no overlap");
    if (!ended) std::printf("%s%s\n", baseline.error.c_str(), result.error.c_str());
    std::fflush(stdout);
  }

  Arguments arguments_;
  hpcbench::TemporaryFolder folder_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int compared_ = 0;
  int failed_ = 0;
  double worst_gradient_ = 0;
  double worst_state_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 0);
  Arguments arguments;
  for (int index = 1; index < argc; ++index) {
    const std::string word = argv[index];
    const bool has_value = index + 1 < argc;
    if (word == "--long") {
      arguments.all = true;
    } else if (word == "--task" && has_value) {
      arguments.task = argv[++index];
    } else if (word == "--strategy" && has_value) {
      arguments.strategy = argv[++index];
    } else if (word == "--exchange" && has_value) {
      arguments.exchange = argv[++index];
    } else if (word == "--resume-only") {
      arguments.resume_only = true;
    } else {
      std::fprintf(
          stderr, "error: usage: strategy_matrix [--long] [--task NAME] [--strategy NAME] [--resume-only] [--exchange NAME]\n");
      return 2;
    }
  }
  try {
    Matrix matrix(arguments);
    for (const char* const task : {"mnist_rnn", "bert_squad"}) {
      if (arguments.task.empty() || arguments.task == task) matrix.run_task(task);
    }
    return matrix.report();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
