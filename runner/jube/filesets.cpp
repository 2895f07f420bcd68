#include "jube/filesets.hpp"

#include <filesystem>

#include "base/text.hpp"

namespace hpcbench {

bool has_glob(const std::string& text) { return text.find_first_of("*?[") != std::string::npos; }

std::string shell_word(const std::string& text) {
  if (text.find("{{") != std::string::npos) return "\"" + text + "\"";
  return has_glob(text) ? text : shell_quote(text);
}

void for_each_file(const JubeNode& node, const FillName& fill, const UseFile& use) {
  const std::string directory = node.attribute("source_dir") + node.attribute("directory");
  const std::string folder = node.attribute("rel_path_ref") == "internal" ? "" : node.attribute("file_path_ref");
  const std::vector<std::string> names = split(node.attribute("name"), ',');
  const std::vector<std::string> parts = node.parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string from = fill(directory.empty() ? parts[i] : directory + "/" + parts[i]);
    if (!folder.empty() && !from.starts_with("{{jube_benchmark_home}}"))
      from = (std::filesystem::path(folder) / from).lexically_normal().string();
    const std::string own = i < names.size() ? fill(std::string(trim(names[i]))) : "";
    const std::string last = own.empty() ? std::filesystem::path(from).filename().string() : own;
    use(from, (std::filesystem::path(node.attribute("target_dir")) / last).string());
  }
}

}  // namespace hpcbench
