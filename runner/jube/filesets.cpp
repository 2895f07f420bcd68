#include "jube/filesets.hpp"

#include <filesystem>

#include "base/text.hpp"

namespace hpcbench {

void for_each_file(const JubeNode& node, const FillName& fill, const UseFile& use) {
  const std::string directory = node.attribute("source_dir") + node.attribute("directory");
  const std::string separator = node.attribute("separator");
  for (const std::string& each : split(node.text, separator.empty() ? ',' : separator.front())) {
    const std::string name(trim(each));
    const std::string from = fill(directory.empty() ? name : directory + "/" + name);
    const std::string own = fill(node.attribute("name"));
    const std::string last = own.empty() ? std::filesystem::path(from).filename().string() : own;
    use(from, (std::filesystem::path(node.attribute("target_dir")) / last).string());
  }
}

}  // namespace hpcbench
