#pragma once

#include <optional>
#include <set>
#include <string>

#include "store/store.hpp"
#include "study/executors.hpp"
#include "study/progress.hpp"
#include "study/rounds.hpp"
#include "study/steps.hpp"

namespace hpcbench {

/// What the studies of one call share.
struct Call {
  Executors executors;
  std::optional<Store> store = {};  // the index, once one of them has opened it
  CallBudget budget = {};
  std::set<std::string> taken_over = {};  // names of studies whose jobs of earlier calls are known
  bool shared = false;                    // one Progress for all of them; else each part of the study has its own
  Progress* progress = nullptr;           // where messages go
};

/// One study of a call, from its lock to its summary, in steps. It first lets go once it is known to be ready (or follows
/// another owner), then once it has taken over what runs. Gives its exit code.
Steps<int> run_study(const Study& study, const RunOptions& options, Call& call);

}  // namespace hpcbench
