// Any bytes given as a benchmark of JUBE are a translation or an InputError, and the translation is valid YAML: an error of
// `check` about it is a located message, never that the file cannot be read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "jube/translate.hpp"
#include "yaml/diagnostics.hpp"
#include "yaml/yaml_tree.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hpcbench;
  const JubeRequest request{"x.xml",     std::string(reinterpret_cast<const char*>(data), size), "study", "study.yaml", {},
                            std::nullopt};
  try {
    const JubeTranslation translation = translate_jube(
        request, [&](const std::string& name) { return name == "x.xml" ? std::optional(request.text) : std::nullopt; });
    try {
      const YamlSource source("study.yaml", translation.text);
      Diagnostics diagnostics;
      parse_yaml(source, diagnostics);
    } catch (const InputError&) {
      constexpr std::size_t kLargest = 1'000'000;  // an experiment file may not be larger
      if (translation.text.size() <= kLargest) std::abort();
    }
  } catch (const InputError&) {
  }
  return 0;
}
