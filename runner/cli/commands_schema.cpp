#include <memory>
#include <string>

#include "base/terminal.hpp"
#include "cli/command.hpp"
#include "cli/formats/schema.hpp"

namespace hpcbench {

void add_schema(commandline::Command& command) {
  const auto kind = std::make_shared<std::string>("experiment");
  command.add_option("KIND", *kind, "of experiment files, or of site files").value_name("").one_of({"experiment", "site"});
  command.action([kind] {
    print_data(*kind == "site" ? site_schema() : experiment_schema());
    return 0;
  });
}

}  // namespace hpcbench
