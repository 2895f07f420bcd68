#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "render/attempt.hpp"

namespace hpcbench {

/// `hb.EXPERIMENT.BATCH.INDEX`: the name by which a job of a described batch system is found. It begins with a letter.
std::string batch_job_name(const std::string& experiment, const std::string& batch, int index);

/// The lines of `commands.directives` for a configuration, but for {{name}} and {{log}}, which differ from job to job. A line
/// whose placeholder has no value is left out, and so is a part of a line between `[[` and `]]`. InputError for a value that
/// cannot stand in a line.
std::vector<std::string> batch_directives(const Experiment& experiment, const Configuration& configuration);

/// The script of all jobs of a batch: {{name}}, {{log}}, {{token}}, {{hash}} and {{folder}} are still open.
std::string batch_system_script(const Experiment& experiment, const Configuration& configuration, const RenderContext& context);

/// Refuses resources that no directive names, and launches that need steps on several nodes. InputError.
void check_batch_system(const Experiment& experiment, const Plan& plan);

}  // namespace hpcbench
