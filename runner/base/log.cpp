#include "base/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include "base/files.hpp"

namespace hpcbench {

namespace {

constexpr const char* kPattern = "%Y-%m-%dT%H:%M:%S.%eZ [%P] %l %v";

std::unique_ptr<spdlog::formatter> line_formatter() {
  return std::make_unique<spdlog::pattern_formatter>(kPattern, spdlog::pattern_time_type::utc, "\n");
}

/// Ignores SIGXFSZ, which a write over RLIMIT_FSIZE sends, during a write only: jobs would inherit a permanent setting.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    ::sigprocmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoFileSizeSignal() {
    const timespec now{0, 0};
    if (sent_) ::sigtimedwait(&signal_, nullptr, &now);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;
  void note_sent() { sent_ = true; }

 private:
  sigset_t signal_{};
  sigset_t before_{};
  bool sent_ = false;
};

/// Appends to a file that several processes write: each record in one write(2) with O_APPEND. spdlog's own files use stdio,
/// which cuts long lines, and its rotation truncates records of other processes.
class SharedFile : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  SharedFile(std::string path, std::uint64_t most_bytes)
      : base_sink(line_formatter()), path_(std::move(path)), most_bytes_(most_bytes) {
    open();
  }
  const std::optional<std::string>& problem() const { return problem_; }

 protected:
  void sink_it_(const spdlog::details::log_msg& record) override {
    if (file_.get() < 0) return;
    rotate_if_due();
    spdlog::memory_buf_t line;
    if (torn_) line.push_back('\n');
    formatter_->format(record, line);
    write(std::string_view(line.data(), line.size()));
  }
  void flush_() override {}

 private:
  void open() {
    file_ = open_study_file(path_, O_APPEND);
    if (file_.get() < 0) note_problem(errno);
  }

  void note_problem(int error) {
    if (!problem_) problem_ = why_not_opened(error);
  }

  void write(std::string_view line) {
    NoFileSizeSignal guard;
    ssize_t count = -1;
    do {
      count = ::write(file_.get(), line.data(), line.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
      if (errno == EFBIG) guard.note_sent();
      note_problem(errno);
      return;
    }
    torn_ = static_cast<std::size_t>(count) != line.size();  // the disk filled up: the next record begins a line
    if (torn_) note_problem(ENOSPC);
  }

  std::string numbered(int number) const { return number == 0 ? path_ : fmt::format("{}.{}", path_, number); }

  /// Returns whether PATH is the file that this process writes.
  bool is_current(const struct stat& ours) const {
    struct stat there {};
    return ::stat(path_.c_str(), &there) == 0 && there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
  }

  void rotate_if_due() {
    struct stat ours {};
    if (::fstat(file_.get(), &ours) != 0 || !S_ISREG(ours.st_mode)) return;
    const bool removed = ours.st_nlink == 0;
    if (!removed && static_cast<std::uint64_t>(ours.st_size) < most_bytes_) return;
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const bool refused = ::fcntl(file_.get(), F_SETLK, &lock) != 0 && (errno == EACCES || errno == EAGAIN);
    if (refused) return;  // another process is rotating; this record still goes to the old file
    if (!removed && is_current(ours)) {
      for (int number = 2; number > 0; --number) ::rename(numbered(number - 1).c_str(), numbered(number).c_str());
    }
    open();  // the lock goes with the old file
  }

  std::string path_;
  std::uint64_t most_bytes_;
  Descriptor file_;
  bool torn_ = false;
  std::optional<std::string> problem_;
};

/// Standard error, for -v.
class StandardError : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  StandardError() : base_sink(line_formatter()) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& record) override {
    spdlog::memory_buf_t line;
    formatter_->format(record, line);
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  void flush_() override {}
};

struct Log {
  LogLevel level = LogLevel::info;
  std::shared_ptr<SharedFile> file;
  std::shared_ptr<StandardError> error;
};

Log& the_log() {
  static Log log;
  return log;
}

constexpr std::array<std::pair<std::string_view, LogLevel>, 5> kLevels = {{{"debug", LogLevel::debug},
                                                                           {"info", LogLevel::info},
                                                                           {"warning", LogLevel::warning},
                                                                           {"error", LogLevel::error},
                                                                           {"off", LogLevel::off}}};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      break;
  }
  return spdlog::level::off;
}

void write_record(LogLevel level, std::string_view text, bool to_error) {
  const Log& log = the_log();
  if (!is_logged(level)) return;
  spdlog::logger logger("hpcbench");
  logger.set_level(spdlog::level::trace);
  logger.set_error_handler([](const std::string& /*what*/) {});
  if (log.file) logger.sinks().push_back(log.file);
  if (log.error && to_error) logger.sinks().push_back(log.error);
  logger.log(spdlog_level(level), escaped_for_log(text));
}

}  // namespace

std::string escaped_for_log(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (c == '\\') {
      line += "\\\\";
    } else if (byte < 0x20 || byte == 0x7F) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return line;
}

std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (const auto& [known, level] : kLevels) {
    if (known == name) return level;
  }
  return std::nullopt;
}

void set_log_level(LogLevel level) { the_log().level = level; }

void print_log(bool on) { the_log().error = on ? std::make_shared<StandardError>() : nullptr; }

void open_log(const std::string& path, std::uint64_t most_bytes) {
  if (the_log().level != LogLevel::off) the_log().file = std::make_shared<SharedFile>(path, most_bytes);
}

void close_log() { the_log().file = nullptr; }

struct LogFile {
  std::shared_ptr<SharedFile> file;
};

std::shared_ptr<LogFile> swap_log(const std::shared_ptr<LogFile>& file) {
  auto before = std::make_shared<LogFile>(LogFile{the_log().file});
  the_log().file = file ? file->file : nullptr;
  return before;
}

std::optional<std::string> log_problem() { return the_log().file ? the_log().file->problem() : std::nullopt; }

bool is_logged(LogLevel level) {
  const Log& log = the_log();
  return level >= log.level && level != LogLevel::off && (log.file || log.error);
}

void log_debug(std::string_view text) { write_record(LogLevel::debug, text, true); }
void log_info(std::string_view text) { write_record(LogLevel::info, text, true); }
void log_warning(std::string_view text) { write_record(LogLevel::warning, text, true); }
void log_error(std::string_view text) { write_record(LogLevel::error, text, true); }
void log_said(std::string_view text) { write_record(LogLevel::info, text, false); }

}  // namespace hpcbench
