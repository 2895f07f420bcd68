#include "runfiles/claim.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <string_view>

#include "base/error.hpp"
#include "base/files.hpp"

namespace hpcbench {

namespace {

std::string claim_path(const std::string& attempt_folder) { return attempt_folder + "/claim"; }

/// A value takes one line.
std::string one_line(std::string text) {
  for (char& character : text) {
    if (character == '\n' || character == '\r' || character == '\0') character = ' ';
  }
  return text;
}

/// The values by key, of complete lines only: half a number is a wrong number.
std::map<std::string, std::string, std::less<>> claim_lines(std::string_view text) {
  std::map<std::string, std::string, std::less<>> values;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) {
      values.emplace(line, "");
    } else {
      values.emplace(line.substr(0, blank), line.substr(blank + 1));
    }
  }
  return values;
}

template <typename Number>
std::optional<Number> claim_number(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Only whole: an identity with a part missing would compare as another process.
std::optional<ProcessIdentity> claimed_process(const std::map<std::string, std::string, std::less<>>& values) {
  const auto host = values.find("host");
  const auto boot = values.find("boot_id");
  const auto pid = values.find("pid");
  const auto ticks = values.find("start_ticks");
  if (host == values.end() || boot == values.end() || pid == values.end() || ticks == values.end()) return std::nullopt;
  const auto pid_number = claim_number<int>(pid->second);
  const auto ticks_number = claim_number<unsigned long long>(ticks->second);
  if (!pid_number || *pid_number <= 0 || !ticks_number) return std::nullopt;
  return ProcessIdentity{host->second, boot->second, *pid_number, *ticks_number};
}

}  // namespace

std::string claim_text(const Claim& claim) {
  if (claim.revoked) return fmt::format("revoked {}\n", one_line(claim.why));
  std::string text = fmt::format("token {}\njob {}\n", one_line(claim.token), one_line(claim.job));
  if (claim.process) {
    text += fmt::format("host {}\nboot_id {}\npid {}\nstart_ticks {}\n", one_line(claim.process->host),
                        one_line(claim.process->boot_id), claim.process->pid, claim.process->start_ticks);
  }
  return text;
}

Claim parse_claim(const std::string& text) {
  constexpr std::string_view kRevoked = "revoked";
  Claim claim;
  // Only hpcbench writes this word first, so the first line decides even if it is cut short.
  const std::string first = text.substr(0, text.find('\n'));
  if (first == kRevoked || first.starts_with("revoked ")) {
    claim.revoked = true;
    if (first.size() > kRevoked.size()) claim.why = first.substr(kRevoked.size() + 1);
    return claim;
  }
  const auto values = claim_lines(text);
  if (const auto token = values.find("token"); token != values.end()) claim.token = token->second;
  if (const auto job = values.find("job"); job != values.end()) claim.job = job->second;
  claim.process = claimed_process(values);
  return claim;
}

bool try_claim(const std::string& attempt_folder, const Claim& claim) {
  const std::string path = claim_path(attempt_folder);
  const std::string text = claim_text(claim);
  // A revocation must outlive a crash: another host's job may still come. A local job's claim need not: a crash that
  // loses it has ended the job, too.
  if (claim.revoked) return create_exclusively(path, text);
  const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kStudyFile));
  if (fd.get() < 0) {
    if (errno == EEXIST) return false;
    throw UnavailableError(fmt::format("error: cannot create {}: {}", path, std::strerror(errno)));
  }
  // A failure from here on leaves an empty or short file behind: taken.
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw UnavailableError(fmt::format("error: cannot write {}: {}", path, std::strerror(errno)));
  }
  return true;
}

std::optional<Claim> read_claim(const std::string& attempt_folder) {
  const std::optional<std::string> text = read_file_if_there(claim_path(attempt_folder));
  if (!text) return std::nullopt;
  return parse_claim(*text);
}

}  // namespace hpcbench
