#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/text.hpp"
#include "base/units.hpp"
#include "scan/candidate.hpp"
#include "scan/metric_name.hpp"

namespace hpcbench {

namespace {

struct WordWeight {
  std::string_view word;
  double weight;
};

/// Words of names that people measure. The heaviest word of a name counts.
constexpr std::array kWantedWords = {
    WordWeight{"loss", 50},      WordWeight{"perplexity", 45},  WordWeight{"ppl", 45},         WordWeight{"mfu", 50},
    WordWeight{"tps", 55},       WordWeight{"tokens", 48},      WordWeight{"throughput", 55},  WordWeight{"samples", 40},
    WordWeight{"images", 40},    WordWeight{"tflops", 45},      WordWeight{"gflops", 50},      WordWeight{"mflops", 45},
    WordWeight{"bandwidth", 50}, WordWeight{"busbw", 52},       WordWeight{"algbw", 45},       WordWeight{"bw", 45},
    WordWeight{"accuracy", 45},  WordWeight{"acc", 45},         WordWeight{"f1", 42},          WordWeight{"bleu", 42},
    WordWeight{"score", 40},     WordWeight{"map", 40},         WordWeight{"auc", 40},         WordWeight{"latency", 45},
    WordWeight{"ttft", 42},      WordWeight{"tpot", 40},        WordWeight{"itl", 38},         WordWeight{"time", 38},
    WordWeight{"elapsed", 45},   WordWeight{"wall", 48},        WordWeight{"walltime", 48},    WordWeight{"wallclock", 48},
    WordWeight{"runtime", 45},   WordWeight{"duration", 45},    WordWeight{"real", 42},        WordWeight{"seconds", 30},
    WordWeight{"memory", 30},    WordWeight{"mem", 30},         WordWeight{"rss", 38},         WordWeight{"maxrss", 40},
    WordWeight{"iops", 48},      WordWeight{"utilization", 30}, WordWeight{"utilisation", 30}, WordWeight{"efficiency", 28},
    WordWeight{"energy", 35},    WordWeight{"power", 32},       WordWeight{"speedup", 40},     WordWeight{"error", 20},
    WordWeight{"residual", 32},  WordWeight{"rmse", 35},        WordWeight{"performance", 48}, WordWeight{"rate", 35},
    WordWeight{"speed", 40},     WordWeight{"finished", 30},    WordWeight{"sent", 20},        WordWeight{"median", 20},
    WordWeight{"mean", 20},      WordWeight{"avg", 20},         WordWeight{"figure", 40},      WordWeight{"fom", 45},
    WordWeight{"creation", 25},  WordWeight{"cycles", 20},      WordWeight{"clock", 22},       WordWeight{"write", 12},
    WordWeight{"read", 10}};

/// Words of names that mean settings, counters or identities; all of them count.
constexpr std::array kUnwantedWords = {
    WordWeight{"lr", -60},          WordWeight{"learning", -60},  WordWeight{"norm", -30},       WordWeight{"remaining", -90},
    WordWeight{"eta", -90},         WordWeight{"left", -60},      WordWeight{"seed", -90},       WordWeight{"id", -90},
    WordWeight{"pid", -90},         WordWeight{"port", -90},      WordWeight{"rank", -90},       WordWeight{"job", -20},
    WordWeight{"version", -90},     WordWeight{"batch", -50},     WordWeight{"nodes", -60},      WordWeight{"cores", -60},
    WordWeight{"threads", -60},     WordWeight{"gpus", -60},      WordWeight{"ranks", -60},      WordWeight{"procs", -60},
    WordWeight{"processors", -60},  WordWeight{"cpus", -25},      WordWeight{"cpu", -10},        WordWeight{"version", -40},
    WordWeight{"repetitions", -70}, WordWeight{"calls", -50},     WordWeight{"iterations", -50}, WordWeight{"count", -50},
    WordWeight{"num", -50},         WordWeight{"min", -8},        WordWeight{"stddev", -35},     WordWeight{"std", -35},
    WordWeight{"dev", -20},         WordWeight{"limit", -50},     WordWeight{"target", -50},     WordWeight{"start", -40},
    WordWeight{"begin", -40},       WordWeight{"interval", -40},  WordWeight{"wrong", -50},      WordWeight{"errno", -90},
    WordWeight{"exit", -90},        WordWeight{"status", -60},    WordWeight{"code", -60},       WordWeight{"timestamp", -90},
    WordWeight{"config", -40},      WordWeight{"world", -50},     WordWeight{"rng", -50},        WordWeight{"member", -50},
    WordWeight{"prompts", -40},     WordWeight{"index", -60},     WordWeight{"scheduled", -40},  WordWeight{"ref", -40},
    WordWeight{"lower", -40},       WordWeight{"upper", -40},     WordWeight{"published", -30},  WordWeight{"first", -5},
    WordWeight{"error", -15},       WordWeight{"date", -60},      WordWeight{"max", -2},         WordWeight{"vocab", -60},
    WordWeight{"layers", -60},      WordWeight{"heads", -60},     WordWeight{"parameters", -40}, WordWeight{"params", -40},
    WordWeight{"hidden", -60},      WordWeight{"total", 3},       WordWeight{"samplesize", -40}, WordWeight{"average", 3},
    WordWeight{"train", 4},         WordWeight{"val", 4},         WordWeight{"eval", 4},         WordWeight{"test", 2},
    WordWeight{"user", -4},         WordWeight{"sys", -8},        WordWeight{"system", -8},      WordWeight{"idle", -20},
    WordWeight{"free", -15},        WordWeight{"available", -15}, WordWeight{"size", -30},       WordWeight{"steps", -10},
    WordWeight{"percentile", 5},    WordWeight{"peak", 4}};

double weight_of_name(const std::string& name) {
  double wanted = 0, unwanted = 0;
  for (const std::string& word : split(name, '_')) {
    for (const WordWeight& each : kWantedWords) {
      if (each.word == word) wanted = std::max(wanted, each.weight);
    }
    for (const WordWeight& each : kUnwantedWords) {
      if (each.word == word) unwanted += each.weight;
    }
  }
  return wanted + unwanted;
}

double weight_of_unit(const std::string& unit) {
  if (unit.empty()) return 0;
  if (unit == "%") return 8;
  if (is_known_quotient(unit)) return is_unit_of_time(unit) ? 28 : 34;
  if (is_unit_of_time(unit)) return 16;
  return unit.find('/') != std::string::npos ? 24 : 10;
}

bool has_word(const std::string& name, std::initializer_list<std::string_view> words) {
  const std::vector<std::string> of_name = split(name, '_');
  return std::any_of(of_name.begin(), of_name.end(),
                     [&](const std::string& word) { return std::find(words.begin(), words.end(), word) != words.end(); });
}

}  // namespace

void Occurrences::add(double value, long long line, bool decimals) {
  if (count++ == 0) {
    first_line = line;
    first = least = most = value;
  } else {
    never_falls = never_falls && value >= last;
  }
  last_line = line;
  last = value;
  least = std::min(least, value);
  most = std::max(most, value);
  has_decimals = has_decimals || decimals;
}

double score_of(const Metric& metric, const Occurrences& seen, bool is_labelled, long long lines) {
  double score = weight_of_name(metric.name) + weight_of_unit(metric.unit);
  if (!index_name(metric.name).empty()) score -= 90;
  const bool is_unit_alone = metric.name == metric_name("", metric.unit);
  if (is_unit_alone) score -= 10;
  if (seen.has_decimals) score += 6;
  if (is_labelled) score += 4;
  if (seen.count > 1) score += std::min(10.0, 2 * std::log2(static_cast<double>(seen.count)));
  // A number printed once is a result at the end of a file, and more often a setting at its beginning.
  const bool is_late = 4 * seen.last_line > 3 * lines;
  if (seen.count == 1) score += is_late ? 8 : -4;
  if (seen.count == 1 && !seen.has_decimals && 10 * seen.first_line <= lines) score -= 15;
  if (seen.count > 2 && seen.is_constant()) score -= 12;
  if (seen.is_counter() && seen.count > 2) score -= 25;
  if (seen.least == 0 && seen.most == 0) score -= 60;
  return score;
}

void choose_take(Metric& metric, const Occurrences& seen) {
  constexpr long long kFewest = 3, kMany = 10;
  const bool is_per_step = has_word(metric.name, {"per", "step", "iteration", "iter"});
  const bool is_total =
      (has_word(metric.name, {"total", "elapsed", "clock", "loss", "wallclock"}) && !is_per_step) || seen.is_counter();
  const bool is_rate = is_known_quotient(metric.unit) || metric.unit == "%" || has_word(metric.name, {"throughput", "rate"});
  const bool is_time = is_unit_of_time(metric.unit) || has_word(metric.name, {"time"});
  if (seen.count < 2 || metric.series == "size") return;
  if (has_word(metric.name, {"memory", "mem", "rss", "maxrss"})) {
    metric.take = "max";
  } else if (!is_total && (is_rate || is_time) && seen.count >= kFewest && !(seen.never_falls && seen.count > 2)) {
    metric.take = "median";
    if (metric.series || seen.count >= kMany) metric.skip = 1;
  }
}

std::string unused_name(const std::string& name, std::map<std::string, int>& used) {
  const int number = ++used[name];
  if (number == 1) return name;
  return unused_name(fmt::format("{}_{}", name, number), used);
}

}  // namespace hpcbench
