#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/terminal.hpp"
#include "store/store.hpp"
#include "study/executors.hpp"
#include "study/progress.hpp"
#include "study/rounds.hpp"
#include "study/steps.hpp"

namespace hpcbench {

/// A name in a set, for as long as this lives.
class Listed {
 public:
  Listed(std::set<std::string>& names, std::string name) : names_(names), name_(std::move(name)) { names_.insert(name_); }
  ~Listed() { names_.erase(name_); }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;

 private:
  std::set<std::string>& names_;
  std::string name_;
};

/// What the studies of one call share.
struct Call {
  Executors executors;
  std::optional<Store> store = {};  // the index, once one of them has opened it
  CallBudget budget = {};
  std::set<std::string> taken_over = {};   // names of studies whose jobs of earlier calls are known
  std::set<std::string> prepared = {};     // studies whose `prepare` command has run: once, also in several rounds
  std::set<std::string> taking_over = {};  // of those that have such jobs, and make preparations first
  std::set<std::string> making_here = {};  // of those that make preparations on this machine, or will
  bool shared = false;                     // one Progress for all of them; else each part of the study has its own
  Progress* progress = nullptr;            // where messages go

  /// A line for people, above the progress if there is one.
  void tell(const std::string& text) const { progress != nullptr ? progress->print(text) : say(text); }
};

/// Of the runs that a study asks for, or has asked for so far.
struct RunTotals {
  long long succeeded = 0;
  long long ended = 0;
  long long asked = 0;
};
/// `stopped: ...`: why a study ends by itself, what that leaves, and what to do.
std::string stopped_text(const Study& study, const std::string& why, const std::string& left);

/// Says how many runs succeeded, and what comes next; after `stopped` what to do has been said. The exit code of the study.
int say_totals(const Study& study, const RunTotals& totals, bool stopped);

/// One study of a call, from its lock to its summary, in steps. It first lets go once it is known to be ready (or follows
/// another owner), then once it has taken over what runs. Gives its exit code.
Steps<int> run_study(const Study& study, const RunOptions& options, Call& call);

}  // namespace hpcbench
