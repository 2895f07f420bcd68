#include "recognise/known_tools.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench {

const std::vector<KnownTool>& known_tools() {
  static const std::vector<KnownTool> kTools = {
      {"W&B (CSV export)", "a .csv with the columns Name and State", read_wandb_export},
      {"W&B (offline runs)", "wandb/*run-*/run-*.wandb", read_wandb_folder},
      {"MLflow (file store)", "EXPERIMENT/RUN/meta.yaml beside params/ and metrics/", read_mlflow_files},
      {"MLflow (SQLite)", "a .db with the tables runs, params and latest_metrics", read_mlflow_database},
      {"Hydra", "*/.hydra/overrides.yaml", read_hydra},
      {"Lightning CSVLogger", "version_N/metrics.csv beside hparams.yaml", read_lightning},
      {"TensorBoard", "events.out.tfevents.*", read_tensorboard},
      {"Hugging Face Trainer", "trainer_state.json", read_trainer_state},
      {"JUBE", "configuration.xml beside result/*.dat or result/*.csv", read_jube_result},
      {"ReFrame (report)", "JSON with session_info and runs", read_reframe_report},
      {"ReFrame (results database)", "a .db with the tables sessions and testcases", read_reframe_database},
      {"ReFrame (perflogs)", "*.log with a header that begins with result| or job_completion_time|", read_reframe_perflogs},
      {"Ramble or Benchpark", "JSON with experiments that have RAMBLE_STATUS", read_ramble},
      {"hyperfine", "JSON with results that have times", read_hyperfine},
      {"Google Benchmark", "JSON with context and benchmarks that have run_type", read_google_benchmark},
      {"pytest-benchmark", "JSON with machine_info and benchmarks that have stats", read_pytest_benchmark},
      {"nvbench", "JSON with benchmarks that have states", read_nvbench},
      {"nccl-tests", "JSON with nccl_version and results", read_nccl_tests},
      {"vLLM bench", "JSON with request_throughput and total_output_tokens", read_vllm},
      {"MLPerf logging", "lines that begin with :::MLLOG", read_mllog},
      {"a table", "a file that ends in .csv or .tsv, with a header", read_plain_table},
      {"logs in named folders", "values in the names of folders or files: run_bs16_lr1e-4_seed1/log.txt", read_named_logs}};
  return kTools;
}

ToolResults recognise_results(const ToolFiles& files) {
  for (const KnownTool& tool : known_tools()) {
    if (auto results = tool.read(files)) {
      results->tool = tool.name;
      if (files.is_cut()) results->left_out.push_back("files beyond the first 100,000 were not read");
      return *results;
    }
  }
  std::string known;
  for (const KnownTool& tool : known_tools()) known += fmt::format("\n  {}: {}", tool.name, tool.recognised_by);
  throw InputError(
      printable(fmt::format("error: {}: no results of a known tool", files.given())) + "\n  = known are:" + known +
      "\n  = for other logs: `hpcbench scan FILE` proposes metrics; values in names of folders or files become axes, as in "
      "`run_bs16_n2_seed1/log.txt`; docs/sources.md describes `import`");
}

}  // namespace hpcbench
