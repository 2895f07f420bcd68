#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tasks/bert_squad/data/cache_folder.hpp"
#include "tasks/bert_squad/data/feature_file.hpp"
#include "trainers/squad/features_fixture.hpp"

namespace hpcbench::train {

namespace {

std::vector<std::string> files_of(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) names.push_back(entry.path().string());
  return names;
}

/// Runs `action` in a separate process, which exits with its result.
template <class Action>
pid_t forked(Action action) {
  const pid_t process = ::fork();
  if (process == 0) {
    int code = 99;
    try {
      code = action();
    } catch (...) {
    }
    ::_exit(code);
  }
  return process;
}

int exit_code_of(pid_t process) {
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The kernel lists processes that wait for a lock, as in "3: -> FLOCK  ADVISORY  WRITE 4711 ...".
void wait_until_blocked_by_a_lock(pid_t process) {
  for (int turn = 0; turn < 6000; ++turn) {
    std::ifstream locks("/proc/locks");
    for (std::string line; std::getline(locks, line);) {
      if (line.find("-> ") != std::string::npos && line.find(" " + std::to_string(process) + " ") != std::string::npos) return;
    }
    ::usleep(10'000);
  }
  FAIL("process " << process << " does not wait for a lock");
}

}  // namespace

TEST_CASE("features are made once, and again where anything that decides them is another") {
  const TemporaryFolder folder;
  FeatureRequest request = squad_test::excerpt_request(folder);
  const auto made = [&] { return !SquadFeatures::open(request).was_cached(); };
  CHECK(made());
  CHECK(!made());
  request.threads = 5;
  CHECK(!made());
  request.max_length = 200;
  CHECK(made());
  request.doc_stride = 64;
  CHECK(made());
  request.cased = true;
  CHECK(made());
  request.max_features = 10;
  CHECK(made());
  request.data = folder / "copy.json";
  squad_test::write_text(folder / "copy.json", squad_test::read_text(squad_test::kData));
  CHECK(!made());  // the content counts, not the name
  squad_test::write_text(folder / "copy.json", squad_test::read_text(squad_test::kData) + " ");
  CHECK(made());
  request.vocabulary = folder / "vocab.txt";
  squad_test::write_text(folder / "vocab.txt", squad_test::read_text(squad_test::kVocabulary) + "one more\n");
  CHECK(made());
  CHECK(files_of(folder / "cache").size() == 7);  // and nothing else: no locks, no unfinished files
}

TEST_CASE("the number of threads changes nothing in the file") {
  const TemporaryFolder folder;
  FeatureRequest request = squad_test::excerpt_request(folder);
  std::vector<std::string> contents;
  for (const int threads : {1, 2, 7}) {
    request.threads = threads;
    request.cache_folder = folder / std::to_string(threads);
    SquadFeatures::open(request);
    contents.push_back(squad_test::read_text(files_of(request.cache_folder).at(0)));
  }
  CHECK(contents[0] == contents[1]);
  CHECK(contents[0] == contents[2]);
}

TEST_CASE("a damaged cache is found and made again") {
  const TemporaryFolder folder;
  const FeatureRequest request = squad_test::excerpt_request(folder);
  const auto whole = squad_test::numbers_of(SquadFeatures::open(request));
  const std::string path = files_of(folder / "cache").at(0);
  const std::string good = squad_test::read_text(path);
  const auto check = [&](const std::string& bytes, const std::string& reason) {
    squad_test::write_text(path, bytes);
    const SquadFeatures features = SquadFeatures::open(request);
    CHECK(!features.was_cached());
    REQUIRE(features.note());
    CHECK(*features.note() == "the feature cache " + path + " was damaged (" + reason + ") and has been made again");
    CHECK(squad_test::numbers_of(features) == whole);
    CHECK(squad_test::read_text(path) == good);
    CHECK(SquadFeatures::open(request).was_cached());
  };
  const auto flipped = [&](std::size_t place) {
    std::string bytes = good;
    bytes[place] = static_cast<char>(bytes[place] ^ 4);
    return bytes;
  };
  check("", "it is too short");
  check(good.substr(0, 50), "it is too short");
  check(good.substr(0, good.size() - 1), "it is not as long as it was made");
  check(good + "x", "it is not as long as it was made");
  check(flipped(0), "it does not begin as a feature cache");
  check(flipped(8), "it has another format");
  check(flipped(16), "it was made from something else");
  check(flipped(50), "its checksum is wrong");
  check(flipped(good.size() / 2), "its checksum is wrong");
  check(flipped(good.size() - 1), "its checksum is wrong");
  check(std::string(good.size(), '\0'), "it does not begin as a feature cache");
}

TEST_CASE("a file with a right checksum and impossible tables is refused") {
  const TemporaryFolder folder;
  const ContentHash::Digest key = {1, 2};
  const auto error_with = [&](auto change) {
    FeatureTables tables;
    tables.features.push_back({sizeof(FeatureFileHeader), 0, 3, 1, 0, 0, 0});
    tables.questions.push_back({sizeof(FeatureFileHeader), sizeof(FeatureFileHeader), 2, 10, 0, 1, 0, 1});
    tables.answers.push_back({4, 6});
    change(tables);
    FileInTheMaking file(folder.path() / "f");
    FeatureFileWriter writer(file.descriptor());
    writer.append(std::vector<std::byte>(36));
    writer.finish(key, tables, {});
    return squad_test::thrown_by([&] { MappedFeatureFile mapped(file.descriptor(), key); });
  };
  CHECK(error_with([](auto&) {}).empty());
  CHECK(error_with([](auto& t) { t.features[0].tokens = 5; }) == "one of its features is impossible");
  CHECK(error_with([](auto& t) { t.features[0].tokens = -1; }) == "one of its features is impossible");
  CHECK(error_with([](auto& t) { t.features[0].position = 1ULL << 62; }) == "one of its features is impossible");
  CHECK(error_with([](auto& t) { t.features[0].position = 8; }) == "one of its features is impossible");
  CHECK(error_with([](auto& t) { t.features[0].question = 1; }) == "one of its features is impossible");
  CHECK(error_with([](auto& t) { t.features[0].end_position = 3; }) == "one of its features is impossible");
  CHECK(error_with([](auto& t) { t.questions[0].features = 2; }) == "one of its questions is impossible");
  CHECK(error_with([](auto& t) { t.questions[0].context_bytes = 60; }) == "one of its questions is impossible");
  CHECK(error_with([](auto& t) { t.questions[0].first_answer = -1; }) == "one of its questions is impossible");
  CHECK(error_with([](auto& t) { t.answers[0].bytes = 7; }) == "one of its answers is impossible");
  CHECK(files_of(folder.path()).empty());
}

TEST_CASE("a folder that cannot be written costs the cache, not the features") {
  const TemporaryFolder folder;
  FeatureRequest request = squad_test::excerpt_request(folder);
  const auto whole = squad_test::numbers_of(SquadFeatures::open(request));
  squad_test::write_text(folder / "file", "");
  request.cache_folder = folder / "file/cache";
  for (int i = 0; i < 2; ++i) {
    const SquadFeatures features = SquadFeatures::open(request);
    CHECK(squad_test::numbers_of(features) == whole);
    CHECK(!features.was_cached());
    REQUIRE(features.note());
    CHECK(*features.note() == "the features are not kept for the next time: the cache folder " + request.cache_folder.string() +
                                  " cannot be used: Not a directory");
  }
}

TEST_CASE("a file with the cache folder's name is no reason to fail either") {
  const TemporaryFolder folder;
  const FeatureRequest request = squad_test::excerpt_request(folder);
  SquadFeatures::open(request);
  const std::string path = files_of(folder / "cache").at(0);
  std::filesystem::remove(path);
  std::filesystem::create_directories(path + "/x");
  const SquadFeatures features = SquadFeatures::open(request);
  CHECK(features.size() == 749);
  CHECK(features.note());
}

TEST_CASE("processes that want the same cache at once make it once, and all have it") {
  const TemporaryFolder folder;
  FeatureRequest request = squad_test::excerpt_request(folder);
  const std::size_t expected = squad_test::numbers_of(SquadFeatures::open(request)).size();
  for (int round = 0; round < 5; ++round) {
    request.cache_folder = folder / ("cache" + std::to_string(round));
    std::vector<pid_t> processes;
    for (int i = 0; i < 8; ++i) {
      processes.push_back(forked([&] {
        const SquadFeatures features = SquadFeatures::open(request);
        if (squad_test::numbers_of(features).size() != expected || features.note()) return 98;
        return features.was_cached() ? 0 : 1;
      }));
    }
    int makers = 0;
    for (const pid_t process : processes) {
      const int code = exit_code_of(process);
      CHECK(code <= 1);
      makers += code == 1;
    }
    CHECK(makers == 1);
    CHECK(files_of(request.cache_folder).size() == 1);
  }
}

TEST_CASE("a process that is killed while it makes a cache leaves nothing that matters") {
  const TemporaryFolder folder;
  const FeatureRequest request = squad_test::excerpt_request(folder);
  SquadFeatures::open(request);
  const std::filesystem::path path = files_of(folder / "cache").at(0);
  std::filesystem::remove(path);
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t maker = forked([&] {
    const CacheLock lock(path);
    FileInTheMaking file(path);
    const bool is_told = ::write(ready[1], "x", 1) == 1;
    while (is_told) ::pause();
    return 1;
  });
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK(files_of(folder / "cache").size() == 2);  // the lock and the unfinished file
  const pid_t waiter = forked([&] { return SquadFeatures::open(request).was_cached() ? 1 : 0; });
  wait_until_blocked_by_a_lock(waiter);
  CHECK(::waitpid(waiter, nullptr, WNOHANG) == 0);
  ::kill(maker, SIGKILL);
  exit_code_of(maker);
  CHECK(exit_code_of(waiter) == 0);
  CHECK(files_of(folder / "cache") == std::vector<std::string>{path.string()});
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("the environment sets the cache folder") {
  const auto saved = [](const char* name) {
    return std::getenv(name) ? std::optional<std::string>(std::getenv(name)) : std::nullopt;
  };
  const auto restore = [](const char* name, const std::optional<std::string>& value) {
    value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  };
  const auto xdg = saved("XDG_CACHE_HOME");
  const auto home = saved("HOME");
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  CHECK(default_cache_folder() == "/x/hpcbench");
  ::setenv("XDG_CACHE_HOME", "relative", 1);  // must be ignored according to the specification
  ::setenv("HOME", "/h", 1);
  CHECK(default_cache_folder() == "/h/.cache/hpcbench");
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  CHECK(default_cache_folder().filename().string().starts_with("hpcbench-"));
  restore("XDG_CACHE_HOME", xdg);
  restore("HOME", home);
}

}  // namespace hpcbench::train
