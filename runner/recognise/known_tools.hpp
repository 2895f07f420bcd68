#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recognise/tool_files.hpp"
#include "recognise/tool_results.hpp"

namespace hpcbench {

// One function for each form in which tools keep results; each gives nothing for files of other tools.

std::optional<ToolResults> read_wandb_export(const ToolFiles& files);
std::optional<ToolResults> read_wandb_folder(const ToolFiles& files);
std::optional<ToolResults> read_mlflow_files(const ToolFiles& files);
std::optional<ToolResults> read_mlflow_database(const ToolFiles& files);
std::optional<ToolResults> read_hydra(const ToolFiles& files);
std::optional<ToolResults> read_lightning(const ToolFiles& files);
std::optional<ToolResults> read_tensorboard(const ToolFiles& files);
std::optional<ToolResults> read_trainer_state(const ToolFiles& files);
std::optional<ToolResults> read_jube_result(const ToolFiles& files);
std::optional<ToolResults> read_reframe_report(const ToolFiles& files);
std::optional<ToolResults> read_reframe_database(const ToolFiles& files);
std::optional<ToolResults> read_reframe_perflogs(const ToolFiles& files);
std::optional<ToolResults> read_ramble(const ToolFiles& files);
std::optional<ToolResults> read_hyperfine(const ToolFiles& files);
std::optional<ToolResults> read_google_benchmark(const ToolFiles& files);
std::optional<ToolResults> read_pytest_benchmark(const ToolFiles& files);
std::optional<ToolResults> read_nvbench(const ToolFiles& files);
std::optional<ToolResults> read_nccl_tests(const ToolFiles& files);
std::optional<ToolResults> read_vllm(const ToolFiles& files);
std::optional<ToolResults> read_mllog(const ToolFiles& files);
std::optional<ToolResults> read_plain_table(const ToolFiles& files);
std::optional<ToolResults> read_named_logs(const ToolFiles& files);

/// A form that `init --import` recognises.
struct KnownTool {
  std::string_view name;
  std::string_view recognised_by;
  std::optional<ToolResults> (*read)(const ToolFiles& files);
};
/// In the order in which they are tried.
const std::vector<KnownTool>& known_tools();

/// The results that a folder or file is. InputError that names the known tools, and what to do, where it is none of them.
ToolResults recognise_results(const ToolFiles& files);

}  // namespace hpcbench
