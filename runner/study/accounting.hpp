#pragma once

#include <set>
#include <string>

#include "base/clock.hpp"
#include "base/tool_runner.hpp"
#include "store/store.hpp"
#include "study/study.hpp"

namespace hpcbench {

/// Fetches what Slurm's accounting says of the runs of a study that have ended (executors/slurm/slurm_accounting.hpp) and reads
/// them into the index again. Only where the study has Slurm as its executor and a metric with `accounting`.
class Accounting {
 public:
  Accounting(const Study& study, ToolRunner& tools, Clock& clock);

  /// Asks once for all that lack it: what ended while no hpcbench was there.
  void catch_up(Store& store);
  /// Asks for the runs that have ended since catch_up, again every 2 s until accounting, which is late by seconds, has all of
  /// them or 30 s are over. It reports what is still absent then.
  void complete(Store& store);

 private:
  bool ask(Store& store, bool with_old);

  const Study& study_;
  ToolRunner& tools_;
  Clock& clock_;
  std::vector<std::string> fields_;  // empty: nothing is asked
  std::set<std::string> old_;        // folders that catch_up did not get
  std::size_t missing_ = 0;          // of the last question
  std::string problem_;
};

}  // namespace hpcbench
