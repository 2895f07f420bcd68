#include "forked_run.hpp"

#include <ATen/core/Tensor.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "base/options.hpp"
#include "base/text.hpp"
#include "trainers/ranks.hpp"
#include "training/program.hpp"
#include "training/training.hpp"

namespace hpcbench::train {

namespace {

constexpr double kLimitS = 240;  // of one training
constexpr std::uint64_t kHashPrime = 1099511628211ULL;

/// The output of a rank: lines `NAME COUNT`, each followed by COUNT doubles, and at the end `hash VALUE`. Only rank 0 writes
/// more than the hash.
class Report {
 public:
  Report(int descriptor, bool whole) : file_(fdopen(descriptor, "wb")), whole_(whole) {}
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  void add(const std::string& name, const at::Tensor& tensor) {
    const at::Tensor values = tensor.detach().to(at::kDouble).contiguous();
    const auto count = static_cast<std::size_t>(values.numel());
    const double* const data = values.const_data_ptr<double>();
    for (std::size_t index = 0; index < count; ++index) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, data + index, sizeof bits);
      hash_ = (hash_ ^ bits) * kHashPrime;
      hash_ ^= hash_ >> 29;
    }
    if (!whole_) return;
    std::fprintf(file_, "%s %zu\n", name.c_str(), count);
    std::fwrite(data, sizeof(double), count, file_);
  }
  bool end() {
    std::fprintf(file_, "hash %llu\n", static_cast<unsigned long long>(hash_));
    return std::fclose(file_) == 0;
  }

 private:
  std::FILE* file_;
  bool whole_;
  std::uint64_t hash_ = 14695981039346656037ULL;
};

/// Returns one rank, in its own process.
int work_as_rank(const std::vector<std::string>& options, int report_descriptor) {
  const World world = read_world(process_environment);
  Report report(report_descriptor, world.rank == 0);
  TrainingHooks hooks;
  hooks.after_backward = [&](std::int64_t step, Strategy& strategy) {
    if (step != 1) return;
    for (const NamedTensor& each : strategy.gather_gradients()) report.add("gradient/" + each.name, each.tensor);
  };
  hooks.at_end = [&](Strategy& strategy) {
    for (const NamedTensor& each : strategy.gather_full_state()) report.add("state/" + each.name, each.tensor);
  };
  const int status = run_training(read_command(options, process_environment, "").settings, world, hooks);
  return report.end() ? status : 1;
}

[[noreturn]] void become_rank(const std::filesystem::path& folder, int rank, int ranks, int port,
                              const std::vector<std::string>& options, int report) {
  for (const auto& [name, value] : rank_environment(rank, ranks, port)) setenv(name.c_str(), value.c_str(), 1);
  const std::string log = folder / concat("log.", rank);
  const int descriptor = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(descriptor, STDOUT_FILENO);
  dup2(descriptor, STDERR_FILENO);
  int status = 1;
  try {
    status = work_as_rank(options, report);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::fflush(stdout);
  _exit(status);
}

std::string content_of(int descriptor) {
  const off_t size = lseek(descriptor, 0, SEEK_END);
  std::string content(static_cast<std::size_t>(size), 0);
  std::size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t count = pread(descriptor, content.data() + filled, content.size() - filled, static_cast<off_t>(filled));
    if (count <= 0) throw std::runtime_error("cannot read a rank's report");
    filled += static_cast<std::size_t>(count);
  }
  return content;
}

void read_report(const std::string& report, Outcome& outcome) {
  for (std::size_t at = 0; at < report.size();) {
    const std::size_t end = report.find('\n', at);
    const std::size_t space = report.find(' ', at);
    if (end == std::string::npos || space > end) throw std::runtime_error("a rank's report is broken off");
    const std::string name = report.substr(at, space - at);
    const std::string value = report.substr(space + 1, end - space - 1);
    at = end + 1;
    if (name == "hash") {
      outcome.hashes.push_back(std::stoull(value));
      continue;
    }
    std::vector<double> values(std::stoull(value));
    std::memcpy(values.data(), report.data() + at, values.size() * sizeof(double));
    at += values.size() * sizeof(double);
    const bool gradient = name.rfind("gradient/", 0) == 0;
    (gradient ? outcome.gradients : outcome.state)[name.substr(name.find('/') + 1)] = std::move(values);
  }
}

/// Returns the first number of that name in the events after `from`; 0 if there is none.
double number_in(const std::string& events, const std::string& name, std::size_t from = 0) {
  const std::string key = concat('"', name, "\":");
  const std::size_t at = events.find(key, from);
  return at == std::string::npos ? 0 : std::stod(events.substr(at + key.size(), 40));
}

void read_events(const std::string& events, Outcome& outcome) {
  outcome.norm = number_in(events, "grad_norm");
  const std::size_t end = events.rfind("\"run_end\"");
  outcome.units = static_cast<int>(number_in(events, "units", end));
  outcome.overlapped_steps = static_cast<int>(number_in(events, "overlapped_steps", end));
}

/// Empty if all ended with 0; kills processes that have not ended after the limit.
std::string wait_for_ranks(const std::filesystem::path& folder, const std::vector<pid_t>& ranks) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kLimitS);
  std::string error;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    int status = 0;
    while (waitpid(ranks[rank], &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > end) {
        kill(ranks[rank], SIGKILL);
        waitpid(ranks[rank], &status, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (status != 0) error += concat("rank ", rank, " ended with status ", status, ": ", slurp(folder / concat("log.", rank)));
  }
  return error;
}

}  // namespace

Outcome run_forked(const std::filesystem::path& folder, int ranks, const std::vector<std::string>& options) {
  std::vector<std::string> all = {"run", "--events", folder / "events.jsonl", "--log-every", "1", "--bind", "false"};
  all.insert(all.end(), options.begin(), options.end());
  std::filesystem::remove(folder / "events.jsonl");
  const int port = free_port();
  std::vector<int> reports;
  std::vector<pid_t> processes;
  std::fflush(stdout);
  for (int rank = 0; rank < ranks; ++rank) {
    reports.push_back(memfd_create("report", MFD_CLOEXEC));
    processes.push_back(fork());
    if (processes.back() == 0) become_rank(folder, rank, ranks, port, all, reports.back());
    if (processes.back() < 0) throw std::runtime_error("fork failed");
  }
  Outcome outcome;
  outcome.error = wait_for_ranks(folder, processes);
  for (const int report : reports) {
    if (outcome.error.empty()) read_report(content_of(report), outcome);
    close(report);
  }
  if (outcome.error.empty()) read_events(slurp(folder / "events.jsonl"), outcome);
  return outcome;
}

}  // namespace hpcbench::train
