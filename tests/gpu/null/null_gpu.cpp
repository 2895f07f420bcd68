// libnullgpu.so: the table of calls.
#include "null_gpu.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Fault {
  std::string name;
  long number = 0;
  bool and_later = false;
  std::string what;
};

std::vector<Fault> read_faults() {
  std::vector<Fault> faults;
  const char* text = std::getenv("NULL_GPU_FAULT");
  std::istringstream words(text ? text : "");
  for (std::string word; std::getline(words, word, ',');) {
    std::istringstream parts(word);
    Fault fault;
    std::string number;
    std::getline(std::getline(std::getline(parts, fault.name, ':'), number, ':'), fault.what);
    fault.number = std::atol(number.c_str());
    fault.and_later = !number.empty() && number.back() == '+';
    faults.push_back(fault);
  }
  return faults;
}

struct Line {
  long count = 0;
  char* place = nullptr;  // in the report; null: no report
};

/// The file of counts, mapped: it is complete however the process ends.
class Report {
 public:
  Report() {
    const char* name = std::getenv("NULL_GPU_REPORT");
    if (!name) return;
    const int file = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0 || ftruncate(file, kBytes) != 0) return;
    void* const bytes = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (bytes == MAP_FAILED) return;
    next_ = static_cast<char*>(bytes);
    end_ = next_ + kBytes;
  }

  Line add_line(const std::string& name) {
    const std::size_t size = kDigits + 1 + name.size() + 1;
    if (!next_ || next_ + size > end_) return {};
    const Line line{0, next_};
    std::memcpy(next_ + kDigits, ("\t" + name + "\n").data(), name.size() + 2);
    next_ += size;
    return line;
  }

  static void write(const Line& line) {
    if (!line.place) return;
    char digits[kDigits + 1];
    std::snprintf(digits, sizeof digits, "%*ld", kDigits, line.count);
    std::memcpy(line.place, digits, kDigits);
  }

 private:
  static constexpr std::size_t kBytes = 1 << 20;  // names of kernels are long
  static constexpr int kDigits = 12;
  char* next_ = nullptr;
  char* end_ = nullptr;
};

class Calls {
 public:
  long add(const char* name) {
    long number = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto [line, is_new] = lines_.try_emplace(name);
      if (is_new) line->second = report_.add_line(name);
      number = ++line->second.count;
      report_.write(line->second);
    }
    for (const Fault& fault : faults_) {
      if (fault.name == name && (fault.number == number || (fault.and_later && fault.number < number))) return strike(fault);
    }
    return 0;
  }

 private:
  static long strike(const Fault& fault) {
    if (fault.what == "kill") std::raise(SIGKILL);
    while (fault.what == "hang") pause();
    return std::atol(fault.what.c_str());
  }

  std::mutex mutex_;
  Report report_;
  std::map<std::string, Line> lines_;
  std::vector<Fault> faults_ = read_faults();
};

/// Lives as long as the process: threads of LibTorch call it until the very end.
Calls& calls() {
  static Calls* const all = new Calls;
  return *all;
}

}  // namespace

long null_gpu_call(const char* name) { return calls().add(name); }
void null_gpu_count(const char* what) { static_cast<void>(calls().add(what)); }
