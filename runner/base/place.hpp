#pragma once

#include <string>

namespace hpcbench {

/// Where something stands in a text file. Lines and columns count from 1; columns count characters, not bytes.
struct Place {
  std::string file;
  int line = 1;
  int column = 1;
};

}  // namespace hpcbench
