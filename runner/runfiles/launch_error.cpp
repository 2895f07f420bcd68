#include "runfiles/launch_error.hpp"

#include <filesystem>
#include <system_error>

namespace hpcbench {

namespace {

constexpr const char* kLink = "/launch_error";

}  // namespace

void note_launch_error(const std::string& folder, std::string text) {
  const std::string place = std::filesystem::absolute(folder + "/.").lexically_normal().string();
  if (const std::size_t at = text.find(place); at != std::string::npos) text.erase(at, place.size());
  std::error_code refused;  // nothing else can be done
  std::filesystem::create_symlink(text, folder + kLink, refused);
}

std::string read_launch_error(const std::string& folder) {
  std::error_code absent;
  return std::filesystem::read_symlink(folder + kLink, absent).string();
}

}  // namespace hpcbench
