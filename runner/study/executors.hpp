#pragma once

#include <functional>
#include <memory>
#include <string>

#include "study/study.hpp"
#include "submit/executor.hpp"

namespace hpcbench {

/// The executor that the study asks for. `slots`: of the local one. `note` is told what a person should know.
std::unique_ptr<Executor> choose_executor(const Study& study, int slots, std::function<void(const std::string&)> note);

/// Seconds after which a tool of Slurm is given up: HPCBENCH_SLURM_TIMEOUT, else 60.
double slurm_tool_timeout_s();

}  // namespace hpcbench
