#include "base/log.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

namespace hpcbench::train {

namespace {

std::atomic<std::int64_t> g_step = 0;

class Terminal final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& record) override {
    std::FILE* const stream = record.level > spdlog::level::info ? stderr : stdout;
    const std::string line = fmt::format("{}\n", std::string_view(record.payload.data(), record.payload.size()));
    std::fwrite(line.data(), 1, line.size(), stream);
    std::fflush(stream);
  }
  void flush_() override {}
};

/// Prints `[rank 1, step 12]`.
class Place final : public spdlog::custom_flag_formatter {
 public:
  explicit Place(int rank) : rank_(rank) {}
  void format(const spdlog::details::log_msg&, const std::tm&, spdlog::memory_buf_t& line) override {
    const std::int64_t step = g_step;
    fmt::format_to(std::back_inserter(line), "[rank {}", rank_);
    if (step > 0) fmt::format_to(std::back_inserter(line), ", step {}", step);
    line.push_back(']');
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<Place>(rank_); }

 private:
  int rank_;
};

/// Prints the text in one line, without the level at its beginning.
class Text final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& record, const std::tm&, spdlog::memory_buf_t& line) override {
    std::string_view text(record.payload.data(), record.payload.size());
    const std::string_view level(spdlog::level::to_string_view(record.level).data());
    if (text.starts_with(level) && text.substr(level.size()).starts_with(": ")) text.remove_prefix(level.size() + 2);
    for (const char c : text) {
      if (c == '\n') line.push_back('\\');
      line.push_back(c == '\n' ? 'n' : c);
    }
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<Text>(); }
};

/// The file of one rank, created with its first record: most ranks of many have none.
class RunLog final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  RunLog(int rank, std::filesystem::path path) : rank_(rank), path_(std::move(path)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& record) override {
    if (!std::exchange(opened_, true)) open();
    if (!file_) return;
    file_->log(record);
    file_->flush();
  }
  void flush_() override {}

 private:
  void open() {
    auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc, "\n");
    formatter->add_flag<Place>('*', rank_).add_flag<Text>('&').set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %* %l %&");
    auto file = std::make_unique<spdlog::sinks::basic_file_sink_st>(path_.string());
    file->set_formatter(std::move(formatter));
    file_ = std::move(file);
  }

  int rank_;
  std::filesystem::path path_;
  bool opened_ = false;
  std::unique_ptr<spdlog::sinks::basic_file_sink_st> file_;  // null: it cannot be opened
};

spdlog::logger& the_logger() {
  // Never destroyed: threads may still log why they end the process.
  static auto* const kLogger = [] {
    auto* made = new spdlog::logger("hpcbench-train", std::make_shared<Terminal>());
    made->set_error_handler([](const std::string& /*what*/) {});
    return made;
  }();
  return *kLogger;
}

}  // namespace

void open_log(int rank, const std::filesystem::path& file) {
  auto& sinks = the_logger().sinks();
  sinks.resize(1);
  if (!file.empty()) sinks.push_back(std::make_shared<RunLog>(rank, file));
}

void set_log_step(std::int64_t step) { g_step = step; }

void log_info(const std::string& text) { the_logger().info(text); }
void log_warning(const std::string& text) { the_logger().warn(text); }
void log_error(const std::string& text) { the_logger().error(text); }

}  // namespace hpcbench::train
