#include "commandline/command.hpp"

#include <utility>

namespace hpcbench::commandline {

Command::Command(std::string name, std::string summary, Command* parent, Declare declare)
    : name_(std::move(name)), summary_(std::move(summary)), parent_(parent), declare_(std::move(declare)) {
  add_flag("-h,--help", wants_help_, "Print this help message and exit");
}

Command& Command::add_command(const std::string& name, const std::string& summary, Declare declare) {
  return commands_.emplace_back(name, summary, this, std::move(declare));
}

void Command::version(std::string text) {
  version_ = std::move(text);
  add_flag("--version", wants_version_, "Display program version information and exit");
}

void Command::declare() {
  if (std::exchange(is_declared_, true)) return;
  if (declare_) declare_(*this);
  if (parent_ == nullptr) return;
  for (const Option& option : parent_->options()) {
    if (!option.is_everywhere) continue;
    Option& own = options_.emplace_back(option);
    own.is_inherited = true;
    own.given.clear();
  }
}

std::string Command::full_name() const { return parent_ == nullptr ? name_ : parent_->full_name() + " " + name_; }

std::list<Option>& Command::options() {
  declare();
  return options_;
}

std::list<Command>& Command::commands() {
  declare();
  return commands_;
}

}  // namespace hpcbench::commandline
