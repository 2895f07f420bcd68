#pragma once

#include <string>
#include <vector>

#include "commandline/command.hpp"

namespace hpcbench {

/// A word that may stand at the end of a command line. One that ends in `=`, `,` or `/` goes on.
struct Offer {
  std::string word;
  std::string about = {};  // what it is, for shells that show it
};

/// What may stand in place of `current` behind the words `before` (without the program's name): commands, options and their
/// values, axes, runs, studies, sites, profiles, files. From the declarations that parsing goes by, and from files and the
/// index as they are: it writes nothing and says nothing. In the order in which they are best read; none where nothing fits.
std::vector<Offer> complete(commandline::Command& program, const std::vector<std::string>& before, const std::string& current);

}  // namespace hpcbench
