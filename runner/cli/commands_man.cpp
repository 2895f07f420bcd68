#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"

namespace hpcbench {

namespace {

std::string page_name(const commandline::Command& command) {
  std::string name = command.full_name();
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

void write_pages(commandline::Command& command, const std::filesystem::path& folder) {
  write_file(folder / (page_name(command) + ".1"), command.man_page(), Durability::none);
  for (commandline::Command& below : command.commands()) write_pages(below, folder);
}

}  // namespace

void add_man(commandline::Command& command) {
  const auto name = std::make_shared<std::string>();
  const auto folder = std::make_shared<std::string>();
  command.add_option("COMMAND", *name, "which command; without it the page of hpcbench itself").value_name("");
  command.add_option("--out", *folder, "write the pages of all commands into this folder instead")
      .value_name("DIR")
      .excludes({"COMMAND"});
  command.action([=, &command] {
    if (folder->empty()) {
      print_data((name->empty() ? *command.parent() : command.parent()->find(*name)).man_page());
    } else {
      make_folders(*folder, kUserFolder);
      write_pages(*command.parent(), *folder);
    }
    return 0;
  });
}

}  // namespace hpcbench
