#include "runfiles/injected.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.hpp"
#include "base/glob.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "runfiles/job_files.hpp"

namespace hpcbench {

void note_injected(const std::string& attempt_folder, int writer, const InjectedFault& fault) {
  const std::string path = attempt_folder + "/" + rank_file("injected", writer, ".jsonl");
  const Descriptor fd = open_study_file(path, O_APPEND);
  const std::string line = fmt::format("{{\"v\":1,\"t\":{:.3f},\"fault\":\"{}\",\"rank\":{},\"text\":{}}}\n", fault.unix_s,
                                       fault.kind, fault.rank, json_quote(fault.text));
  if (fd.get() < 0 || ::write(fd.get(), line.data(), line.size()) < 0) return;
  ::fsync(fd.get());
}

std::vector<InjectedFault> read_injected(const std::string& attempt_folder) {
  std::vector<InjectedFault> faults;
  for (const char* const pattern : {"injected.jsonl", "injected.[0-9]*.jsonl"}) {
    for (const std::string& file : glob_files(glob_escaped(attempt_folder) + '/' + pattern)) {
      constexpr std::size_t kMostRead = 65536;
      JsonMembers members;
      for (const std::string& line : split(read_tail(file, kMostRead), '\n')) {
        if (!scan_object(line, members)) continue;
        const auto time = json_number(find_member(members, "t"));
        const auto rank = json_integer(find_member(members, "rank"));
        const std::string kind = json_string(find_member(members, "fault")).value_or("");
        const std::string text = json_string(find_member(members, "text")).value_or("");
        if (time && rank && !kind.empty()) faults.push_back({kind, *time, static_cast<int>(*rank), printable(text)});
      }
    }
  }
  std::stable_sort(faults.begin(), faults.end(), [](const auto& a, const auto& b) { return a.unix_s < b.unix_s; });
  return faults;
}

}  // namespace hpcbench
