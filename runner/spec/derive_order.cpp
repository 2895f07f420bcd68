#include "spec/derive_order.hpp"

#include <algorithm>
#include <unordered_map>

namespace hpcbench {

namespace {

/// Depth first along what each value is derived from. The way is kept by hand: a file may have many.
class DeriveWalk {
 public:
  explicit DeriveWalk(const std::vector<ParsedDerived>& derive) : derive_(derive), states_(derive.size(), State::unseen) {
    for (std::size_t i = 0; i < derive.size(); ++i) index_.emplace(derive[i].derived.name, i);
    for (std::size_t i = 0; i < derive.size() && cycle.empty(); ++i) {
      if (states_[i] == State::unseen) walk(i);
    }
  }

  std::vector<std::size_t> order;
  std::vector<std::string> cycle;

 private:
  enum class State { unseen, on_the_way, done };
  struct Step {
    std::size_t value = 0;
    std::size_t next_name = 0;
  };

  void walk(std::size_t first) {
    std::vector<Step> way = {{first, 0}};
    states_[first] = State::on_the_way;
    while (!way.empty() && cycle.empty()) {
      Step& step = way.back();
      const std::vector<NameUse>& names = derive_[step.value].derived.expression.expression().names();
      if (step.next_name == names.size()) {
        states_[step.value] = State::done;
        order.push_back(step.value);
        way.pop_back();
        continue;
      }
      const auto needed = index_.find(names[step.next_name++].name);
      if (needed == index_.end() || states_[needed->second] == State::done) continue;
      if (states_[needed->second] == State::on_the_way) return take_cycle(way, needed->second);
      states_[needed->second] = State::on_the_way;
      way.push_back({needed->second, 0});
    }
  }

  void take_cycle(const std::vector<Step>& way, std::size_t again) {
    const auto begin = std::find_if(way.begin(), way.end(), [&](const Step& step) { return step.value == again; });
    for (auto step = begin; step != way.end(); ++step) cycle.push_back(derive_[step->value].derived.name);
    cycle.push_back(derive_[again].derived.name);
  }

  const std::vector<ParsedDerived>& derive_;
  std::vector<State> states_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace

std::vector<Derived> in_order_of_need(const std::vector<ParsedDerived>& derive) {
  std::vector<Derived> ordered;
  for (const std::size_t i : DeriveWalk(derive).order) ordered.push_back(derive[i].derived);
  return ordered;
}

std::vector<std::string> derive_cycle(const std::vector<ParsedDerived>& derive) { return DeriveWalk(derive).cycle; }

}  // namespace hpcbench
