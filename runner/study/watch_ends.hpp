#pragma once

#include <cstddef>
#include <vector>

#include "study/study.hpp"
#include "submit/dispatcher.hpp"
#include "submit/events.hpp"
#include "submit/executor.hpp"

namespace hpcbench {

/// Looks at the jobs that were asked to end until they have, for a while, and names those that go on. How many these are.
std::size_t watch_ends(const Study& study, const std::vector<CancelledJob>& asked, Executor& executor, Events& events);

}  // namespace hpcbench
