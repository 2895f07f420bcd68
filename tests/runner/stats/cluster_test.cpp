// Speedups on a simulated cluster whose nodes differ and drift over hours: runs in blocks of one allocation against one job for
// each run. tests/golden/stats/cluster.md is what comes out; HPCBENCH_RENEW_GOLDEN=1 test_stats -tc='cluster*' renews it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "noise.hpp"
#include "stats/stats.hpp"

using namespace hpcbench;

namespace {

constexpr int kClusterStudies = 10'000;
constexpr std::size_t kNodes = 64;
constexpr std::size_t kLargestJob = 8;
constexpr double kRunNoise = 0.01;  // standard deviations of log times: of runs
constexpr double kHours = 0.03;     // and of hours
constexpr double kHourStays = 0.9;  // correlation of one hour with the next

/// What a cluster adds to the logarithm of a time.
class SimulatedCluster {
 public:
  SimulatedCluster(Noise& noise, double node_spread, int hours) : noise_(noise) {
    for (std::size_t node = 0; node < kNodes; ++node) nodes_.push_back(node_spread * noise.normal());
    double hour = kHours * noise.normal();
    for (int i = 0; i <= hours; ++i) {
      hours_.push_back(hour);
      hour = kHourStays * hour + std::sqrt(1 - kHourStays * kHourStays) * kHours * noise.normal();
    }
  }

  /// The next job has other nodes; its smaller runs have the first of them.
  void place_job() {
    for (std::size_t i = 0; i < kLargestJob; ++i) {
      std::swap(nodes_[i], nodes_[i + static_cast<std::size_t>(noise_.uniform() * static_cast<double>(kNodes - i))]);
    }
  }

  /// Time of a run on the first `size` nodes of the job: the slowest one governs. `at` in hours; between hours it drifts
  /// evenly.
  double run_s(int size, double at) {
    const auto hour = static_cast<std::size_t>(at);
    const double drift = hours_[hour] + (at - std::floor(at)) * (hours_[hour + 1] - hours_[hour]);
    return std::exp(*std::max_element(nodes_.begin(), nodes_.begin() + size) + drift + kRunNoise * noise_.normal());
  }

 private:
  Noise& noise_;
  std::vector<double> nodes_, hours_;
};

struct ClusterCase {
  double node_spread;
  int baseline_nodes, row_nodes;
  int n;  // runs on each side
};

/// Over all studies; `found` for a true speedup of 1.
struct Design {
  double printed = 0;
  double found = 0;
  double width = 0;  // mean, of logarithms

  void count(const Interval& interval) {
    printed = interval.coverage;
    found += interval.low <= 1 && 1 <= interval.high ? 1.0 / kClusterStudies : 0;
    width += std::log(interval.high / interval.low) / kClusterStudies;
  }
};

/// In blocks, each in an hour of its own; and the same runs, each in a job of its own, at any time of the same hours.
struct Designs {
  Design blocks, jobs;
};

Designs simulate_designs(const ClusterCase& of, Noise& noise) {
  Designs designs;
  for (int study = 0; study < kClusterStudies; ++study) {
    SimulatedCluster cluster(noise, of.node_spread, of.n);
    std::vector<double> baseline, row, lone_baseline, lone_row;
    for (int block = 0; block < of.n; ++block) {
      cluster.place_job();
      baseline.push_back(cluster.run_s(of.baseline_nodes, block + noise.uniform()));
      row.push_back(cluster.run_s(of.row_nodes, block + noise.uniform()));
      cluster.place_job();
      lone_baseline.push_back(cluster.run_s(of.baseline_nodes, of.n * noise.uniform()));
      cluster.place_job();
      lone_row.push_back(cluster.run_s(of.row_nodes, of.n * noise.uniform()));
    }
    designs.blocks.count(*paired_speedup(baseline, row, 0.95)->interval);
    designs.jobs.count(*speedup(lone_baseline, lone_row, 0.95)->interval);
  }
  return designs;
}

}  // namespace

TEST_CASE("cluster: blocks hold what they print, and are narrower than one job for each run") {
  Noise noise(20261125);
  std::string text =
      "| spread of nodes | nodes of baseline, row | n | blocks: printed, found, width | jobs: printed, found, width | jobs / "
      "blocks |\n"
      "|---|---|---|---|---|---|\n";
  for (const double spread : {0.05, 0.1}) {
    for (const auto& [baseline_nodes, row_nodes] : {std::pair(8, 8), std::pair(1, 1), std::pair(4, 8), std::pair(1, 8)}) {
      for (const int n : {6, 10}) {
        CAPTURE(spread);
        CAPTURE(baseline_nodes);
        CAPTURE(row_nodes);
        CAPTURE(n);
        const auto [blocks, jobs] = simulate_designs({spread, baseline_nodes, row_nodes, n}, noise);
        const double gain = jobs.width / blocks.width;
        const auto shown = [&, same = baseline_nodes == row_nodes](const Design& design) {
          const std::string found = same ? fmt::format("{:.1f} %", 100 * design.found) : "-";
          return fmt::format("{:.1f} %, {}, {:.1f} %", 100 * design.printed, found, 100 * std::expm1(design.width));
        };
        text += fmt::format("| {:.0f} % | {}, {} | {} | {} | {} | {:.1f} |\n", 100 * spread, baseline_nodes, row_nodes, n,
                            shown(blocks), shown(jobs), gain);
        if (baseline_nodes != row_nodes) continue;  // what a job adds is not common to both sides: only reported
        for (const Design& design : {blocks, jobs}) {
          CHECK(design.found >= design.printed - 3 * std::sqrt(design.printed * (1 - design.printed) / kClusterStudies));
        }
        CHECK(gain >= 2);
      }
    }
  }
  const std::string path = std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/stats/cluster.md";
  const std::string document = read_file(path);
  const std::size_t first = document.find("| spread");
  REQUIRE(first != std::string::npos);
  if (std::getenv("HPCBENCH_RENEW_GOLDEN") != nullptr) {
    write_file(path, document.substr(0, first) + text, Durability::none);
  } else {
    CHECK(document.substr(first) == text);
  }
}
