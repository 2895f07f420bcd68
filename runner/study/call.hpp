#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "store/store.hpp"
#include "study/executors.hpp"
#include "study/progress.hpp"
#include "study/rounds.hpp"

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
  Clock& clock;
  Executors& executors;
  Progress& progress;
  std::optional<Store> store = {};  // the index, once one of them has opened it
  CallBudget budget = {};
  std::set<std::string> taking_over = {};  // names of studies that have jobs of earlier calls, and make preparations first
  std::set<std::string> cancelled = {};    // of those whose end `hpcbench cancel` asked for during this call
  std::set<std::string> making_here = {};  // of those that make preparations on this machine, or will
};

}  // namespace hpcbench
