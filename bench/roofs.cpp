// Measures the limits of this machine, as bounds for the figures of hpcbench. Prints seconds.
//   roofs spawn N SLOTS PROGRAM [ARGUMENT...]   starts and waits for N processes, SLOTS at a time
//   roofs kept N SLOTS FOLDER PROGRAM...        the same, and of each what hpcbench keeps of a run, by the fewest calls
//   roofs durable N FOLDER                      N small files, each synced, renamed and its folder synced
//   roofs insert N DATABASE                     N rows of a run's state into SQLite, in one transaction
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>

namespace {

double now_s() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("error: cannot " + what);
}

void wait_for_one() {
  int status = 0;
  require(::wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0, "run the program");
}

/// Calls `start` `count` times, `slots` processes at a time.
template <typename Start>
void in_slots(long count, long slots, const Start& start) {
  long running = 0;
  for (long i = 0; i < count; ++i) {
    if (running == slots) {
      wait_for_one();
      --running;
    }
    start(i);
    ++running;
  }
  for (; running > 0; --running) wait_for_one();
}

void spawn(long count, long slots, char** argv) {
  in_slots(count, slots, [&](long) {
    pid_t pid = 0;
    require(::posix_spawnp(&pid, argv[0], nullptr, nullptr, argv, environ) == 0, "start the program");
  });
}

/// Opens a new file.
int new_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  require(file >= 0, "create " + path);
  return file;
}

void write_file(const std::string& path, bool synced) {
  const std::string text(400, 'x');
  const int file = new_file(path);
  require(::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "write " + path);
  require((!synced || ::fsync(file) == 0) && ::close(file) == 0, "sync " + path);
}

/// Replaces the file whole or not at all, whatever happens meanwhile.
void put_in_place(const std::string& path, bool synced) {
  write_file(path + ".tmp", synced);
  require(::rename((path + ".tmp").c_str(), path.c_str()) == 0, "rename " + path);
}

void put_durably(const std::string& folder, const std::string& name) {
  put_in_place(folder + name, true);
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  require(opened >= 0 && ::fsync(opened) == 0 && ::close(opened) == 0, "sync " + folder);
}

void make_folder(const std::string& path) { require(::mkdir(path.c_str(), 0777) == 0, "create " + path); }

void durable(long count, const std::string& folder) {
  for (long i = 0; i < count; ++i) {
    const std::string path = fmt::format("{}/{}", folder, i);
    make_folder(path);
    put_durably(path, "/file");
  }
}

void run_and_record(const std::string& attempt, char** argv) {
  write_file(attempt + "/claim", false);
  put_in_place(attempt + "/started.json", false);
  require(::dup2(new_file(attempt + "/stdout.log"), STDOUT_FILENO) >= 0, "redirect");
  require(::dup2(new_file(attempt + "/stderr.log"), STDERR_FILENO) >= 0, "redirect");
  pid_t pid = 0;
  require(::posix_spawnp(&pid, argv[0], nullptr, nullptr, argv, environ) == 0, "start the program");
  wait_for_one();
  put_durably(attempt, "/finished.json");
}

/// Keeps a run like hpcbench: configuration, run and attempt have folders, and a process that outlives this one starts the
/// program and records it.
void kept(long count, long slots, const std::string& folder, char** argv) {
  in_slots(count, slots, [&](long i) {
    const std::string configuration = fmt::format("{}/{}", folder, i);
    const std::string run = configuration + "/r01";
    const std::string attempt = run + "/a1";
    for (const auto& path : {configuration, run, attempt}) make_folder(path);
    for (const auto* name : {"/run.json", "/job.sh"}) write_file(attempt + name, false);
    const pid_t pid = ::fork();
    require(pid >= 0, "start a process");
    if (pid > 0) return;
    try {
      run_and_record(attempt, argv);
      ::_exit(0);
    } catch (const std::exception&) {
      ::_exit(1);
    }
  });
}

void insert(long count, const char* path) {
  sqlite3* database = nullptr;
  const auto execute = [&](const char* text) {
    require(sqlite3_exec(database, text, nullptr, nullptr, nullptr) == SQLITE_OK, std::string("do ") + text);
  };
  require(sqlite3_open(path, &database) == SQLITE_OK, "open the database");
  execute("CREATE TABLE run (id INTEGER PRIMARY KEY, experiment TEXT, config_id TEXT, number INTEGER, state TEXT, path TEXT)");
  execute("BEGIN IMMEDIATE");
  sqlite3_stmt* statement = nullptr;
  require(sqlite3_prepare_v2(
              database, "INSERT INTO run (experiment, config_id, number, state, path) VALUES ('bench', ?, 1, 'intended', ?)",
              -1, &statement, nullptr) == SQLITE_OK,
          "prepare");
  for (long i = 0; i < count; ++i) {
    const std::string config = fmt::format("{:016x}", static_cast<unsigned long long>(i) * 0x9E3779B97F4A7C15ULL);
    const std::string key = config + "/r01/a1";
    sqlite3_bind_text(statement, 1, config.c_str(), -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(statement, 2, key.c_str(), -1, SQLITE_TRANSIENT);
    require(sqlite3_step(statement) == SQLITE_DONE, "insert");
    sqlite3_reset(statement);
  }
  execute("COMMIT");
  sqlite3_finalize(statement);
  sqlite3_close(database);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 3 ? argv[1] : "";
  try {
    const double begin_s = now_s();
    if (what == "spawn" && argc > 4) {
      spawn(std::strtol(argv[2], nullptr, 10), std::strtol(argv[3], nullptr, 10), argv + 4);
    } else if (what == "kept" && argc > 5) {
      kept(std::strtol(argv[2], nullptr, 10), std::strtol(argv[3], nullptr, 10), argv[4], argv + 5);
    } else if (what == "durable") {
      durable(std::strtol(argv[2], nullptr, 10), argv[3]);
    } else if (what == "insert") {
      insert(std::strtol(argv[2], nullptr, 10), argv[3]);
    } else {
      fmt::print(
          stderr,
          "usage: roofs spawn N SLOTS PROGRAM... | kept N SLOTS FOLDER PROGRAM... | durable N FOLDER | insert N DATABASE\n");
      return 2;
    }
    fmt::print("{:.6f}\n", now_s() - begin_s);
    return 0;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 3;
  }
}
