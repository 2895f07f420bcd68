#include "files/folder.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw DataError(concat("error: cannot make the folder ", folder.string(), ": ", error.message()));
  if (access(folder.c_str(), W_OK) != 0)
    throw DataError(concat("error: the folder ", folder.string(), " cannot be written to"));
}

}  // namespace hpcbench::train
