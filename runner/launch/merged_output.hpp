#pragma once

#include <deque>
#include <string>
#include <thread>

#include "base/files.hpp"
#include "launch/spawn.hpp"

namespace hpcbench {

/// The output of ranks that goes to one file, which other processes append to as well: lines stay whole, and each begins with
/// its rank: `3: loss 0.5`. A lock of fcntl orders the writers where appending alone does not (NFS).
class MergedOutput {
 public:
  /// UnavailableError if the file cannot be opened.
  explicit MergedOutput(const std::string& path);
  /// As `finish`.
  ~MergedOutput();
  MergedOutput(const MergedOutput&) = delete;
  MergedOutput& operator=(const MergedOutput&) = delete;

  /// A descriptor, ours, for a stream of this rank. Before `start`. UnavailableError if there is none available.
  int add_stream(int rank);
  /// From here on lines are taken, in a thread that gets no signals but those that are not blocked now.
  void start();
  /// Takes what has been written so far, a last line without its end, too, and stops.
  void finish();

 private:
  struct Stream {
    int rank;
    Descriptor read_end, write_end;
    std::string begun;  // a line without its end
  };

  void take_lines();
  bool take_from(Stream& stream, std::string& lines);
  void append(const std::string& lines);

  Descriptor file_;
  Descriptor stop_read_, stop_write_;
  std::deque<Stream> streams_;
  std::thread thread_;
};

/// The output of this process goes there, in place of files of its own.
void merge_output(ProcessSpec& spec, MergedOutput& merged);

}  // namespace hpcbench
