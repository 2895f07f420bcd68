#include "launch/merged_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLongestLine = 1 << 16;  // what is longer is broken there

std::pair<Descriptor, Descriptor> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw UnavailableError(
        fmt::format("error: cannot merge the output of ranks: {}\n  = say `output: per_rank`", std::strerror(errno)));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Where there are no such locks appending has to do.
void lock_file(int fd, short kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  while (::fcntl(fd, F_SETLKW, &lock) != 0 && errno == EINTR) {
  }
}

}  // namespace

MergedOutput::MergedOutput(const std::string& path) : file_(open_study_file(path, O_APPEND)) {
  if (file_.get() < 0) throw UnavailableError(fmt::format("error: cannot create {}: {}", path, why_not_opened(errno)));
  std::tie(stop_read_, stop_write_) = make_pipe();
}

MergedOutput::~MergedOutput() { finish(); }

int MergedOutput::add_stream(int rank) {
  auto [read_end, write_end] = make_pipe();
  streams_.push_back({rank, std::move(read_end), std::move(write_end), {}});
  return streams_.back().write_end.get();
}

void MergedOutput::start() {
  thread_ = std::thread([this] { take_lines(); });
}

void MergedOutput::finish() {
  if (!thread_.joinable()) return;
  [[maybe_unused]] const ssize_t written = ::write(stop_write_.get(), "x", 1);
  thread_.join();
}

void MergedOutput::take_lines() {
  std::vector<pollfd> waiting = {{stop_read_.get(), POLLIN, 0}};
  for (const Stream& stream : streams_) waiting.push_back({stream.read_end.get(), POLLIN, 0});
  bool stopping = false;
  while (!stopping) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    stopping = waiting.front().revents != 0;
    bool more = true;
    while (more) {  // what has come; if this is the end, all that is there
      std::string lines;
      more = false;
      for (Stream& stream : streams_) more = take_from(stream, lines) || more;
      append(lines);
    }
  }
  std::string rest;
  for (const Stream& stream : streams_) {
    if (!stream.begun.empty()) rest += fmt::format("{}: {}\n", stream.rank, stream.begun);
  }
  append(rest);
}

/// True if the stream had something.
bool MergedOutput::take_from(Stream& stream, std::string& lines) {
  std::array<char, kLongestLine> part{};
  const ssize_t count = ::read(stream.read_end.get(), part.data(), part.size());
  if (count <= 0) return false;
  stream.begun.append(part.data(), static_cast<std::size_t>(count));
  std::size_t begin = 0;
  for (std::size_t end = stream.begun.find('\n'); end != std::string::npos; end = stream.begun.find('\n', begin)) {
    lines += fmt::format("{}: {}\n", stream.rank, std::string_view(stream.begun).substr(begin, end - begin));
    begin = end + 1;
  }
  stream.begun.erase(0, begin);
  if (stream.begun.size() >= kLongestLine) lines += fmt::format("{}: {}\n", stream.rank, std::exchange(stream.begun, {}));
  return true;
}

void MergedOutput::append(const std::string& lines) {
  if (lines.empty()) return;
  lock_file(file_.get(), F_WRLCK);
  std::size_t done = 0;
  while (done < lines.size()) {
    const ssize_t count = ::write(file_.get(), lines.data() + done, lines.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;  // a full disk: the program goes on, as it would with a file of its own
    done += static_cast<std::size_t>(count);
  }
  lock_file(file_.get(), F_UNLCK);
}

void merge_output(ProcessSpec& spec, MergedOutput& merged) {
  spec.stdout_path.clear();
  spec.stderr_path.clear();
  spec.output_fd = merged.add_stream(spec.rank);
  spec.error_fd = merged.add_stream(spec.rank);
}

}  // namespace hpcbench
