// What only points show to be wrong, and its messages: tests/golden/plan/NAME.yaml and NAME.txt.
// Renewed with HPCBENCH_RENEW_GOLDEN=1 test_plan -tc='golden*'; the diff is to be read.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "plan/plan.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

TEST_CASE("golden: each file that cannot be planned has its message") {
  const bool renew = std::getenv("HPCBENCH_RENEW_GOLDEN") != nullptr;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/plan")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  CHECK(files.size() >= 12);
  for (const std::filesystem::path& file : files) {
    CAPTURE(file.filename().string());
    std::string message = "accepted\n";
    try {
      make_plan(parse_experiment(read_file(file), file.filename().string(), {}));
    } catch (const InputError& error) {
      message = error.what() + std::string("\n");
    }
    const std::filesystem::path golden = std::filesystem::path(file).replace_extension(".txt");
    if (renew) write_file(golden, message, Durability::none);
    CHECK(message == read_file(golden));
  }
}
