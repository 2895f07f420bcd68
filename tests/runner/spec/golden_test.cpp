// Broken experiment files and their messages: tests/golden/spec/NAME.yaml and NAME.txt.
// Renewed with HPCBENCH_RENEW_GOLDEN=1 test_spec -tc='golden*'; the diff is to be read.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

namespace golden_fs = std::filesystem;

/// First lines such as `#! --profile laptop` or `#! --set repeats=x` say how the file is read.
ReadOptions golden_options(const std::string& text) {
  ReadOptions options;
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with("#! ")) break;
    const std::size_t blank = line.find(' ', 3);
    const std::string option = line.substr(3, blank - 3);
    const std::string value = line.substr(blank + 1);
    if (option == "--profile") options.profile = value;
    if (option == "--set") options.settings.push_back(value);
    if (option == "--site") options.site = std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/spec/" + value;
  }
  return options;
}

/// Messages name the files of sites by their path: without that of the checkout they are the same everywhere.
std::string without_checkout(std::string text) {
  const std::string folder = std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/spec/";
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) text.erase(at, folder.size());
  return text;
}

}  // namespace

TEST_CASE("golden: each broken file has its message") {
  const bool renew = std::getenv("HPCBENCH_RENEW_GOLDEN") != nullptr;
  std::vector<golden_fs::path> files;
  for (const auto& entry : golden_fs::directory_iterator(std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/spec")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  CHECK(files.size() >= 35);
  for (const golden_fs::path& file : files) {
    CAPTURE(file.filename().string());
    const std::string text = read_file(file);
    std::string message = "accepted";
    try {
      parse_experiment(text, file.filename().string(), golden_options(text));
    } catch (const InputError& error) {
      message = without_checkout(error.what());
    }
    const golden_fs::path golden = golden_fs::path(file).replace_extension(".txt");
    if (renew) write_file(golden, message + '\n', Durability::none);
    CHECK(message + '\n' == read_file_if_there(golden).value_or("there is no golden file\n"));
    CHECK(message != "accepted");
  }
}
