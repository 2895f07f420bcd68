// Whether a study has GPUs, and what its sizes are counted in.
#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

Experiment study(const std::string& more, const std::optional<std::string>& profile = std::nullopt) {
  ReadOptions options;
  options.profile = profile;
  std::string text = "experiment: gpu_free\ndescription: without GPUs\n";
  if (more.find("command:") == std::string::npos) text += "command: [./program]\n";
  if (!more.starts_with("matrix:") && more.find("\nmatrix:") == std::string::npos) text += "matrix: {nodes: [1]}\n";
  return parse_experiment(text + more, "s.yaml", options);
}

bool has_gpus(const std::string& more) { return study(more).has_gpus; }

}  // namespace

TEST_CASE("a study has GPUs if its file names them") {
  CHECK(has_gpus("matrix: {gpus_per_node: [1, 2]}"));
  CHECK(has_gpus("matrix: {n: [1]}\nzip: [{gpus_per_node: [1], k: [2]}]"));
  CHECK(has_gpus("command: [./program, \"{{gpus}}\"]"));
  CHECK(has_gpus("command: [./program, --device=cuda:0]"));
  CHECK(has_gpus("matrix: {backend: [cpu, GPU]}\ncommand: [./program, \"{{backend}}\"]"));
  CHECK(has_gpus("resources: {gres: \"gpu:a100:1\"}"));
  CHECK(has_gpus("limits: {gpu_hours: 10}"));
  CHECK(has_gpus("report: {columns: [gpus, median]}"));
  CHECK(has_gpus("report: {scale_by: gpus}"));
  CHECK(has_gpus("metrics: [{name: tokens_per_s_per_gpu, file: stdout.log, pattern: '(\\d+)'}]"));
}

TEST_CASE("a study that names no GPU has none") {
  CHECK_FALSE(has_gpus("matrix: {n: [1, 2]}\ncommand: [./program, \"{{n}}\"]"));
  CHECK_FALSE(has_gpus("matrix: {ranks_per_node: [1, 2]}"));
  CHECK_FALSE(has_gpus("matrix: {ranks_per_node: [1, 2], gpus_per_node: [0]}"));
  CHECK_FALSE(has_gpus("command: [./program, --no-cuda, /opt/gpustat]"));
  CHECK_FALSE(has_gpus("environment: {CUDA_VISIBLE_DEVICES: \"\"}"));
  CHECK_FALSE(has_gpus("profiles: {cluster: {matrix: {gpus_per_node: [4]}}}"));
}

TEST_CASE("the profile that is laid over a study may bring GPUs") {
  const std::string text = "profiles: {cluster: {matrix: {gpus_per_node: [4]}}}";
  CHECK(study(text, "cluster").has_gpus);
}

TEST_CASE("jobs on Slurm ask for a GPU unless the study or the site says otherwise") {
  CHECK(has_gpus("executor: slurm"));
  CHECK_FALSE(has_gpus("executor: slurm\nmatrix: {ranks_per_node: [1]}"));
  CHECK_FALSE(has_gpus("executor: slurm\nresources: {gres: \"fs:1\"}"));
}

TEST_CASE("sizes are counted in ranks, nodes or gpus, as the study has them") {
  CHECK(study("matrix: {nodes: [1, 2]}").scale_by() == ScaleBy::nodes);
  CHECK(study("matrix: {ranks_per_node: [1, 2]}").scale_by() == ScaleBy::ranks);
  CHECK(study("matrix: {gpus_per_node: [1, 2]}").scale_by() == ScaleBy::gpus);
  CHECK(study("matrix: {gpus_per_node: [1], ranks_per_node: [1, 2]}").scale_by() == ScaleBy::ranks);
  CHECK(study("matrix: {nodes: [1, 2]}\nreport: {scale_by: cores}").scale_by() == ScaleBy::cores);
}
