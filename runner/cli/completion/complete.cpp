#include "cli/completion/complete.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "cli/completion/values.hpp"

namespace hpcbench {

namespace {

const commandline::Option* find_option(commandline::Command& command, const std::string& word) {
  for (const commandline::Option& option : command.options()) {
    const bool is_long = !option.long_name.empty() && word == "--" + option.long_name;
    const bool is_short = !option.short_name.empty() && word == "-" + option.short_name;
    if (is_long || is_short) return &option;
  }
  return nullptr;
}

/// Reads the words before the one that is completed, as far as they can be read.
class WordWalk {
 public:
  WordWalk(commandline::Command& program, const std::vector<std::string>& words) : command(&program) {
    for (const std::string& word : words) take(word);
  }

  commandline::Command* command;  // the last that was named
  GivenWords given;
  const commandline::Option* awaiting = nullptr;  // the option whose value comes next
  bool only_positionals = false;                  // behind `--`

 private:
  void take(const std::string& word) {
    if (awaiting != nullptr) {
      take_value(word);
    } else if (only_positionals || !word.starts_with('-')) {
      take_positional(word);
    } else if (word == "--") {
      only_positionals = true;
    } else {
      take_option(word);
    }
  }

  void take_value(const std::string& word) {
    if (awaiting->is_greedy && word.starts_with('-')) {
      awaiting = nullptr;
      take(word);
      return;
    }
    given.given[awaiting->name()].push_back(word);
    if (!awaiting->is_greedy) awaiting = nullptr;
  }

  void take_positional(const std::string& word) {
    for (commandline::Command& below : command->commands()) {
      if (only_positionals || below.name() != word || !given.positionals.empty()) continue;
      command = &below;
      if (given.command.empty()) given.command = word;
      return;
    }
    given.positionals.push_back(word);
  }

  void take_option(const std::string& word) {
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const commandline::Option* option = find_option(*command, word.substr(0, equals));
    if (option == nullptr) return;
    std::vector<std::string>& values = given.given[option->name()];
    if (equals != std::string::npos) {
      values.push_back(word.substr(equals + 1));
    } else if (!option->is_flag() && !option->is_value_optional) {
      awaiting = option;
    }
  }
};

std::vector<Offer> as_offers(const std::vector<std::string>& words) {
  std::vector<Offer> offers;
  for (const std::string& word : words) offers.push_back({word});
  return offers;
}

/// Behind the commas that are there.
std::vector<Offer> offer_parts(const std::vector<std::string>& values, const std::string& typed) {
  const std::size_t comma = typed.rfind(',');
  const std::string kept = comma == std::string::npos ? "" : typed.substr(0, comma + 1);
  const std::vector<std::string> there = split(kept, ',');
  std::vector<Offer> offers;
  for (const std::string& value : values) {
    if (std::find(there.begin(), there.end(), value) == there.end()) offers.push_back({kept + value});
  }
  return offers;
}

std::vector<Offer> offer_values_of(const commandline::Option& option, const GivenWords& given, const std::string& typed) {
  if (option.is_list_of_values) return offer_parts(option.values, typed);
  if (!option.values.empty()) return as_offers(option.values);
  return offer_values(value_kind(option, given), given, typed);
}

std::vector<Offer> offer_options(const WordWalk& walk) {
  std::vector<Offer> offers;
  for (const commandline::Option& option : walk.command->options()) {
    if (option.is_positional()) continue;
    const bool may_repeat = option.is_list() || option.is_last_wins;
    if (!may_repeat && walk.given.given.count(option.name()) > 0) continue;
    offers.push_back({option.name(), option.help});
  }
  return offers;
}

std::vector<Offer> offer_positional(const WordWalk& walk, const std::string& current) {
  if (!walk.command->commands().empty() && walk.given.positionals.empty()) {
    std::vector<Offer> offers;
    for (const commandline::Command& below : walk.command->commands()) offers.push_back({below.name(), below.summary()});
    return offers;
  }
  std::size_t left = walk.given.positionals.size();
  for (const commandline::Option& option : walk.command->options()) {
    if (!option.is_positional()) continue;
    if (left == 0 || option.is_list()) return offer_values_of(option, walk.given, current);
    --left;
  }
  return {};
}

std::vector<Offer> offer_all(commandline::Command& program, const WordWalk& walk, const std::string& current) {
  if (walk.awaiting != nullptr) return offer_values_of(*walk.awaiting, walk.given, current);
  const std::size_t equals = current.starts_with("--") && !walk.only_positionals ? current.find('=') : std::string::npos;
  if (equals != std::string::npos) {
    const std::string name = current.substr(0, equals);
    const commandline::Option* option = find_option(*walk.command, name);
    std::vector<Offer> offers;
    if (option != nullptr && !option->is_flag()) offers = offer_values_of(*option, walk.given, current.substr(equals + 1));
    for (Offer& offer : offers) offer.word.insert(0, name + "=");
    return offers;
  }
  if (current.starts_with('-') && !walk.only_positionals) return offer_options(walk);
  if (walk.given.command == "help" || walk.given.command == "man") {
    std::vector<Offer> offers;
    if (!walk.given.positionals.empty()) return offers;
    for (const commandline::Command& command : program.commands()) offers.push_back({command.name(), command.summary()});
    return offers;
  }
  return offer_positional(walk, current);
}

}  // namespace

std::vector<Offer> complete(commandline::Command& program, const std::vector<std::string>& before, const std::string& current) {
  const WordWalk walk(program, before);
  std::vector<Offer> offers = offer_all(program, walk, current);
  std::erase_if(offers, [&](const Offer& offer) {
    const bool is_one_line = offer.word.find_first_of("\n\t") == std::string::npos;
    return !offer.word.starts_with(current) || !is_one_line;
  });
  return offers;
}

}  // namespace hpcbench
