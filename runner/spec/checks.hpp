#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "spec/parsed_experiment.hpp"
#include "spec/points.hpp"
#include "yaml/diagnostics.hpp"

namespace hpcbench {

/// Strategies of the built-in trainer.
const std::vector<std::string>& trainer_strategies();

/// What `parameters` and axes of an experiment with `trainer` may name: the trainer's settings (a test holds them against its
/// --help) and the axes that say how large a run is.
const std::vector<std::string>& trainer_settings();

/// Checks what depends on several keys; complains about all of it.
void check_parsed(const ParsedExperiment& parsed, Diagnostics& diagnostics);

/// Under a profile or `--set` what the file says of points that are no longer there does not apply: drops it from `parsed` and
/// says so in its notes. `changes` names what changed the file: "profile `laptop`". Axes must be sound.
void drop_outside(ParsedExperiment& parsed, const ParsedExperiment& base, const std::string& changes);

/// True if all axes could be read and no two have the same name: only then is there a space of points to ask about.
bool axes_are_sound(const ParsedExperiment& parsed);

/// Complains about `~/` and `$HOME` in the values of parameters and axes, where no command has a shell.
void check_shell_values(const ParsedExperiment& parsed, Diagnostics& diagnostics);  // values/shell_syntax.cpp

/// Notes of `check` on valid files: axes that reach no program, values that look like placeholders,
/// nodes without processes. Each with its place.
std::vector<std::string> reach_notes(const ParsedExperiment& parsed);  // check_reach.cpp

/// Where the expressions of a parsed experiment stand.
std::set<std::size_t> expressions_of(const ParsedExperiment& parsed);  // check_parsed.cpp

/// Refuses a value that no point has on an axis, and suggests a similar one.
void refuse_value(const PointSpace& space, const std::string& axis, const Value& value, const SourceLocation& location,
                  Diagnostics& diagnostics);  // check_points.cpp

/// The derived values in order of need: what one names stands before it; else as the file has them. Without cycles.
std::vector<Derived> in_order_of_need(const std::vector<ParsedDerived>& derive);

/// The names of values that are derived from each other, the first one again at the end; empty where there are none.
std::vector<std::string> derive_cycle(const std::vector<ParsedDerived>& derive);  // check_expressions.cpp

// The parts of check_parsed, one file each.
void check_axes(const ParsedExperiment& parsed, Diagnostics& diagnostics);                             // check_points.cpp
void check_points(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics);  // check_points.cpp
/// Names, literals and cycles of all expressions; what they compute is found out for each point, by make_plan.
void check_expressions(const ParsedExperiment& parsed, const PointSpace& space,
                       Diagnostics& diagnostics);  // check_expressions.cpp
/// Names, units, kinds and cycles of the formulas of metrics and of `success.require`.
void check_formulas(const ParsedExperiment& parsed, const PointSpace& space,
                    Diagnostics& diagnostics);  // check_expressions.cpp
void check_placeholders(const ParsedExperiment& parsed, const PointSpace& space,
                        Diagnostics& diagnostics);  // check_placeholders.cpp
/// Axes and parameters that reach nothing, where the intention is clear.
void check_reach(const ParsedExperiment& parsed, Diagnostics& diagnostics);  // check_reach.cpp
/// What does not go together with `repeats` that end by themselves, or with a budget.
void check_repeats(const ParsedExperiment& parsed, Diagnostics& diagnostics);  // read_root.cpp
/// `points` false: the points are not known well enough (an exclude is wrong) to ask which strategy has how many gpus.
void check_trainer(const ParsedExperiment& parsed, const PointSpace& space, bool points,
                   Diagnostics& diagnostics);  // check_trainer.cpp

}  // namespace hpcbench
