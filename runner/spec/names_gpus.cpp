#include "spec/names_gpus.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace hpcbench {
namespace {

/// The words of a text: letters and digits, in lower case.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

bool text_names_gpus(const std::string& text) {
  if (text == "peak_tflops") return true;
  const std::vector<std::string> words = words_of(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_gpu = words[i] == "gpu" || words[i] == "gpus" || words[i] == "cuda";
    const bool is_denied = i > 0 && words[i - 1] == "no";
    const bool is_variable = i + 1 < words.size() && words[i + 1] == "visible";
    if (is_gpu && !is_denied && !is_variable) return true;
  }
  return false;
}

/// A number of GPUs, or a list of numbers, that is not 0.
bool counts_any(const YamlNode& node) {
  if (node.is_scalar()) return node.text != "0";
  return std::any_of(node.items.begin(), node.items.end(), counts_any);
}

}  // namespace

bool names_gpus(const YamlNode& node) {
  if (node.is_scalar()) return text_names_gpus(node.text);
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const YamlNode& item = node.items[i];
    const std::string key = node.is_map() ? node.keys[i].name : "";
    if (key == "description" || key == "experiment" || key == "note" || key == "profiles") continue;
    if (key == "gpus_per_node" ? counts_any(item) : text_names_gpus(key) || names_gpus(item)) return true;
  }
  return false;
}

}  // namespace hpcbench
