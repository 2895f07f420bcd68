#include "store/database.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/error.hpp"
#include "base/files.hpp"
#include "fakes/checks.hpp"
#include "fakes/temporary_folder.hpp"
#include "records.hpp"
#include "store/store.hpp"

using namespace hpcbench;

namespace {

std::vector<AttemptRecord> some_records(int first, int count) {
  std::vector<AttemptRecord> records;
  for (int i = 0; i < count; ++i) {
    records.push_back(full_record());
    records.back().key.run.number = first + i;
  }
  return records;
}

void overwrite(const std::string& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

}  // namespace

TEST_CASE("the file keeps what was written, and needs no other file beside it") {
  const TemporaryFolder folder;
  const std::string path = folder / "hpcbench.db";
  Store::open(path).put(some_records(1, 3));
  Store again = Store::open(path);
  CHECK_FALSE(again.rebuilt());
  CHECK(again.attempts("digits").size() == 3);
  CHECK_FALSE(std::filesystem::exists(path + "-wal"));
}

TEST_CASE("another schema version, or no index at all, is moved aside and made anew") {
  const TemporaryFolder folder;
  const std::string path = folder / "hpcbench.db";
  Store::open(path).put(some_records(1, 1));
  SQLite::Database(path, SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
  CHECK_FALSE(Store::open_readonly(path));
  {
    Store store = Store::open(path);
    REQUIRE(store.rebuilt());
    CHECK(*store.rebuilt() == "it has schema version 99, this program reads 5 (the old file is " + path + ".broken-1)");
    CHECK(store.attempts("digits").empty());
  }
  CHECK_FALSE(Store::open(path).rebuilt());

  overwrite(path, "this is no database, but it is long enough for a header: " + std::string(200, 'x'));
  CHECK_FALSE(Store::open_readonly(path));
  CHECK(Store::open(path).rebuilt());
  CHECK(std::filesystem::exists(path + ".broken-2"));
  CHECK(read_file(path + ".broken-2").starts_with("this is no database"));

  SQLite::Database(path, SQLite::OPEN_READWRITE).exec("DROP TABLE series");
  CHECK_FALSE(Store::open_readonly(path));
  CHECK(Store::open(path).rebuilt());
  overwrite(path, "");
  CHECK_FALSE(Store::open_readonly(path));
  CHECK_FALSE(Store::open(path).rebuilt());
}

TEST_CASE("damage anywhere: the index works, or says what to do and works at the next call") {
  const TemporaryFolder folder;
  const std::string whole_path = folder / "whole.db";
  Store::open(whole_path).put(some_records(1, 40));
  const std::string whole = read_file(whole_path);
  const std::string path = folder / "hpcbench.db";
  const auto use = [&] {
    Store store = Store::open(path);
    store.attempts("digits");
    store.states("digits");
    store.counting_attempts("digits", true);
    store.put(some_records(20, 40));
    store.clear(std::nullopt);
    store.put(some_records(1, 2));
    if (!same_record(store.attempts("digits").at(1), some_records(2, 1)[0])) throw std::runtime_error("wrong record");
  };
  CHECK(rc::check("after damage", [&](const std::vector<std::pair<unsigned, unsigned char>>& damage, unsigned cut) {
    std::string content = whole;
    for (const auto& [at, byte] : damage) {
      for (std::size_t i = 0; i < 8; ++i) content[(at + i) % content.size()] = static_cast<char>(byte);
    }
    if (cut % 3 == 0) content.resize(cut % content.size());
    overwrite(path, content);
    std::filesystem::remove(path + "-journal");
    error_of<UnavailableError>(use);
    RC_ASSERT(error_of<UnavailableError>(use).empty());
  }));
}

TEST_CASE("a page that breaks under an open index is told, and the next call starts anew") {
  const TemporaryFolder folder;
  const std::string path = folder / "hpcbench.db";
  Store::open(path).put(some_records(1, 200));
  const std::string whole = read_file(path);
  Store store = Store::open(path);
  std::string broken = whole;
  for (std::size_t page = 1; page * 4096 < whole.size(); ++page) broken.replace(page * 4096, 64, std::string(64, '\xFF'));
  broken[27] = static_cast<char>(broken[27] + 1);  // the change counter: what is in memory is read again
  overwrite(path, broken);
  const std::string told = error_of<UnavailableError>([&] { store.attempts("digits"); });
  CHECK(told.starts_with("error: " + path + " was broken ("));
  CHECK(told.ends_with("and is now " + path + ".broken-1: call again; it is made anew from the run directories"));
  CHECK(Store::open(path).attempts("digits").empty());
}

TEST_CASE("two processes write at once and nothing is lost") {
  const TemporaryFolder folder;
  const std::string path = folder / "hpcbench.db";
  constexpr int kRounds = 40;
  const auto write_some = [&](int writer) {
    Store store = Store::open(path);
    for (int i = 0; i < kRounds; ++i) {
      store.put(some_records(1 + writer * 1000 + i, 1));
      store.attempts("digits");
    }
  };
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::_exit(error_of<UnavailableError>([&] { write_some(1); }).empty() ? 0 : 1);
  }
  CHECK(error_of<UnavailableError>([&] { write_some(0); }).empty());
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(Store::open(path).attempts("digits").size() == 2 * kRounds);
}

TEST_CASE("processes that make the index at once make one index") {
  constexpr int kWriters = 6;
  for (int round = 0; round < 15; ++round) {
    const TemporaryFolder folder;
    const std::string path = folder / "hpcbench.db";
    std::vector<pid_t> writers;
    for (int writer = 0; writer < kWriters; ++writer) {
      writers.push_back(::fork());
      REQUIRE(writers.back() >= 0);
      if (writers.back() > 0) continue;
      ::_exit(error_of<UnavailableError>([&] { Store::open(path).put(some_records(1 + writer, 1)); }).empty() ? 0 : 1);
    }
    for (const pid_t writer : writers) {
      int status = -1;
      REQUIRE(::waitpid(writer, &status, 0) == writer);
      CHECK(status == 0);
    }
    CHECK(Store::open(path).attempts("digits").size() == kWriters);
    CHECK(!std::filesystem::exists(path + ".broken-1"));
  }
}

TEST_CASE("a writer that is killed leaves a whole index") {
  const TemporaryFolder folder;
  const std::string path = folder / "hpcbench.db";
  Store::open(path).put(some_records(1, 1));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    SQLite::Database database(path, SQLite::OPEN_READWRITE);
    database.exec("PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE attempt SET state = 'lost'; DELETE FROM series");
    ::_exit(0);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  Store store = Store::open(path);
  CHECK_FALSE(store.rebuilt());
  check_same(store.attempts("digits").at(0), full_record());
}

TEST_CASE("what cannot be written is an error with advice; reading works") {
  const TemporaryFolder folder;
  CHECK(error_of<UnavailableError>([&] { Store::open("/proc/hpcbench.db"); }).starts_with("error: "));
  const std::string file = folder / "file";
  overwrite(file, "x");
  CHECK(error_of<UnavailableError>([&] {
          Store::open(file + "/hpcbench.db");
        }).starts_with("error: cannot create folder " + file));
  CHECK_FALSE(Store::open_readonly(folder / "nothing.db"));
  CHECK_FALSE(std::filesystem::exists(folder / "nothing.db"));

  const std::string path = folder / "hpcbench.db";
  Store::open(path).put(some_records(1, 2));
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  if (::geteuid() != 0) {
    CHECK(error_of<UnavailableError>([&] {
            Store::open(path);
          }).starts_with("error: cannot write " + folder.path().string() + ": Permission denied: "));
  }
  CHECK(Store::open_readonly(path)->attempts("digits").size() == 2);
  CHECK(error_of<UnavailableError>([&] {
          Store::open_readonly(path)->put(some_records(1, 1));
        }).starts_with("error: " + path + ": "));
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  CHECK(Store::open(path).attempts("digits").size() == 2);
}

TEST_CASE("no space left is an error that says that nothing is lost") {
  const TemporaryFolder folder;
  const std::string path = folder / "hpcbench.db";
  SQLite::Exception full("database or disk is full", 13);
  CHECK(error_of<UnavailableError>([&] { throw_unavailable(path, full); }) ==
        "error: " + path +
            ": no space left on the device: free some and call again; nothing is lost, the run directories hold everything");
}

TEST_CASE("a full quota, which SQLite calls an I/O error, is an error with that advice") {
  const TemporaryFolder folder;
  SQLite::Exception quota("disk I/O error", 778);  // SQLITE_IOERR_WRITE
  CHECK(error_of<UnavailableError>([&] {
          throw_unavailable(folder / "hpcbench.db", quota);
        }).find(": disk I/O error: your quota may be used up: free some space and call again; nothing is lost") !=
        std::string::npos);
}

TEST_CASE("the views that docs/database.md shows") {
  const TemporaryFolder folder;
  const std::string path = folder / "hpcbench.db";
  Store::open(path).put(some_records(1, 2));
  SQLite::Database database(path, SQLite::OPEN_READONLY);
  CHECK(database.execAndGet("SELECT count(*) FROM run").getInt() == 2);
  CHECK(database.execAndGet("SELECT value FROM metric WHERE name = 'train_s' LIMIT 1").getDouble() == 0.1);
  CHECK(database.execAndGet("SELECT value FROM axis WHERE name = 'strategy' LIMIT 1").getString() == "ddp");
  CHECK(database.execAndGet("SELECT value FROM fact WHERE name = 'precision' LIMIT 1").getString() == "fp32");
  CHECK(database.execAndGet("SELECT text FROM warning LIMIT 1").getString() == "events.jsonl:17: not JSON");
  CHECK(database.execAndGet("SELECT value FROM point WHERE name = 'loss' AND \"index\" = 2 LIMIT 1").getDouble() == 0.2);
}
