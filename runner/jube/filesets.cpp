#include "jube/filesets.hpp"

#include <filesystem>

#include "base/text.hpp"

namespace hpcbench {

void for_each_file(const JubeNode& node, const FillName& fill, const UseFile& use) {
  const std::string directory = node.attribute("source_dir") + node.attribute("directory");
  const std::vector<std::string> names = split(node.attribute("name"), ',');
  const std::vector<std::string> parts = node.parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string from = fill(directory.empty() ? parts[i] : directory + "/" + parts[i]);
    const std::string own = i < names.size() ? fill(std::string(trim(names[i]))) : "";
    const std::string last = own.empty() ? std::filesystem::path(from).filename().string() : own;
    use(from, (std::filesystem::path(node.attribute("target_dir")) / last).string());
  }
}

}  // namespace hpcbench
