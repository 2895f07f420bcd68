// Benchmarks of JUBE and what becomes of them: tests/golden/jube/NAME.xml, NAME.yaml and NAME.txt, the same for both forms.
// Renewed with HPCBENCH_RENEW_GOLDEN=1 test_jube -tc='golden*'; the diff is to be read.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "jube/translate.hpp"

using namespace hpcbench;

namespace {

namespace jube_golden_fs = std::filesystem;

const jube_golden_fs::path kFolder = std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/jube";

/// Notes without their place, which the two forms do not share.
std::string without_place(const std::string& line, const std::string& file) {
  if (!line.starts_with(file + ":") && !line.starts_with("# " + file + ":")) return line;
  const std::size_t end = line.find(": ");
  return (line.front() == '#' ? "# PLACE" : "PLACE") + line.substr(end);
}

/// All that a translation says; `file` is NAME.xml or NAME.yaml.
std::string translated(const std::string& file, const std::set<std::string>& tags = {}) {
  const JubeRequest request{file, read_file(kFolder / file), "study", "study.yaml", tags, std::nullopt};
  const JubeTranslation result =
      translate_jube(request, [](const std::string& name) { return read_file_if_there(kFolder / name); });
  std::string text;
  for (const std::string& line : split(result.text, '\n')) text += without_place(line, file) + "\n";
  for (const auto& [path, deck] : result.decks) text += "=== " + path + "\n" + deck;
  text += "=== notes\n";
  for (const std::string& note : result.notes) text += without_place(note, file) + "\n";
  text += "=== check: " + result.problem.value_or("ok") + "\n";
  const std::string stem = jube_golden_fs::path(file).stem();
  for (std::size_t at = text.find(file); at != std::string::npos; at = text.find(file))
    text.replace(at, file.size(), "JUBE_FILE");
  return text;
}

}  // namespace

TEST_CASE("golden: each benchmark of JUBE has its translation, from XML as from YAML") {
  const bool renew = std::getenv("HPCBENCH_RENEW_GOLDEN") != nullptr;
  int pairs = 0;
  int files = 0;
  for (const std::string name : {"arithmetic", "chain", "deck", "files", "hello", "include", "lookup", "table", "tags"}) {
    CAPTURE(name);
    const std::string of_xml = translated(name + ".xml");
    ++files;
    const jube_golden_fs::path golden = kFolder / (name + ".txt");
    if (renew) write_file(golden, of_xml, Durability::none);
    CHECK(of_xml == read_file_if_there(golden).value_or("there is no golden file\n"));
    if (!jube_golden_fs::exists(kFolder / (name + ".yaml"))) continue;
    CHECK(translated(name + ".yaml") == of_xml);
    ++pairs;
  }
  CHECK(files >= 9);
  CHECK(pairs >= 5);
}

TEST_CASE("notes stand at their place in the file of JUBE") {
  const JubeRequest request{"arithmetic.xml", read_file(kFolder / "arithmetic.xml"), "study", "study.yaml", {}, std::nullopt};
  const JubeTranslation result = translate_jube(request, [](const std::string&) { return std::nullopt; });
  REQUIRE(!result.notes.empty());
  const auto of_cores = std::find_if(result.notes.begin(), result.notes.end(),
                                     [](const std::string& note) { return note.find("FILL IN cores") != std::string::npos; });
  REQUIRE(of_cores != result.notes.end());
  CHECK(of_cores->starts_with("arithmetic.xml:11:7: note: "));
  CHECK(result.text.find("# arithmetic.xml:11:7: FILL IN cores") != std::string::npos);
}

TEST_CASE("tags are chosen for good, or become profiles") {
  CHECK(translated("tags.xml").find("profiles:\n  large:\n") != std::string::npos);
  const std::string both = translated("tags.xml", {"loud", "large"});
  CHECK(both.find("profiles:") == std::string::npos);
  CHECK(both.find("extra: both") != std::string::npos);
  CHECK(both.find("n: [100, 200]") != std::string::npos);
}
