#include "submit/attempt_batch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "runfiles/attempt_hash.hpp"
#include "runfiles/block_claim.hpp"
#include "runfiles/layout.hpp"

namespace hpcbench {

namespace {

std::string batches_folder(const std::string& results) { return results + "/batches"; }

/// The first line of handed.txt: who may trust what the file does not say.
std::string maker_line() { return fmt::format("host {} boot_id {}", host_name(), boot_id()); }

/// Begins a line of handed.txt: the attempt that it names is in the batch again.
constexpr std::string_view kReturned = "returned ";

void write_whole(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw UnavailableError(fmt::format("error: cannot write {}: {}", path, std::strerror(errno)));
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

Descriptor open_to_write(const std::string& path, int flags, unsigned mode) {
  Descriptor fd = open_study_file(path, flags, mode);
  if (fd.get() < 0) throw UnavailableError(fmt::format("error: cannot write {}: {}", path, why_not_opened(errno)));
  return fd;
}

void write_plainly(const std::string& path, std::string_view content, unsigned mode) {
  const Descriptor fd = open_to_write(path, O_TRUNC, mode);
  write_whole(fd.get(), content, path);
}

/// The lines of a handed.txt that name attempts which left the batch, among others.
std::set<std::string> left_lines(const std::vector<std::string>& log) {
  std::set<std::string> left;
  for (const std::string& line : log) {
    if (line.starts_with(kReturned)) {
      left.erase(line.substr(kReturned.size()));
    } else {
      left.insert(line);
    }
  }
  return left;
}

OpenBatch read_open_batch(const std::string& folder, const std::string& id, const std::string& maker) {
  OpenBatch batch{id, {}, {}};
  const std::vector<std::string> log = split(read_file_if_there(folder + "/handed.txt").value_or(""), '\n');
  const bool trusted = log.front() == maker;
  const std::set<std::string> left = left_lines(log);
  for (const std::string& line : split(read_file_if_there(folder + "/attempts.txt").value_or(""), '\n')) {
    const std::optional<AttemptKey> key = parse_attempt_key(line);
    if (!key) continue;
    (trusted && left.count(line) == 0 ? batch.unhanded : batch.handed).push_back(*key);
  }
  return batch;
}

}  // namespace

AttemptBatch::AttemptBatch(std::string folder, std::string id, Descriptor log)
    : folder_(std::move(folder)), id_(std::move(id)), log_(std::move(log)) {}

AttemptBatch AttemptBatch::create(const std::string& results, const std::string& id, const std::vector<AttemptKey>& attempts,
                                  const std::vector<std::size_t>& blocks) {
  const std::string folder = batches_folder(results) + "/" + id;
  make_folders(folder);
  // The log first: a batch that names attempts and has no log would make them doubtful.
  Descriptor log = open_to_write(folder + "/handed.txt", O_EXCL | O_APPEND, kStudyFile);
  write_whole(log.get(), maker_line() + "\n", folder + "/handed.txt");
  if (!blocks.empty()) write_file(folder + "/" + kBlocksFile, blocks_text(blocks), Durability::none);
  std::string lines;
  for (const AttemptKey& key : attempts) lines += to_string(key) + "\n";
  write_file(folder + "/attempts.txt", lines, Durability::none);
  return {folder, id, std::move(log)};
}

AttemptBatch AttemptBatch::resume(const std::string& results, const std::string& id) {
  const std::string folder = batches_folder(results) + "/" + id;
  return {folder, id, open_to_write(folder + "/handed.txt", O_APPEND, kStudyFile)};
}

void AttemptBatch::note_leaving(const AttemptKey& attempt) {
  // The leading newline ends a line that an earlier process could not finish (full disk).
  write_whole(log_.get(), "\n" + to_string(attempt) + "\n", folder_ + "/handed.txt");
}

void AttemptBatch::note_leaving(const std::vector<AttemptKey>& attempts) {
  std::string lines = "\n";
  for (const AttemptKey& key : attempts) lines += to_string(key) + "\n";
  write_whole(log_.get(), lines, folder_ + "/handed.txt");
}

void AttemptBatch::note_returned(const std::vector<AttemptKey>& attempts) {
  std::string lines = "\n";
  for (const AttemptKey& key : attempts) lines += std::string(kReturned) + to_string(key) + "\n";
  write_whole(log_.get(), lines, folder_ + "/handed.txt");
}

void AttemptBatch::note_job(const AttemptKey& attempt, const std::string& job) { jobs_.emplace_back(attempt, job); }

void AttemptBatch::close() {
  JsonWriter json;
  json.begin_object().member("schema", 1).key("jobs").begin_object();
  for (const auto& [key, job] : jobs_) json.member(to_string(key), job);
  write_file(folder_ + "/submitted.json", json.end().end().take() + "\n", Durability::none);
}

std::vector<OpenBatch> read_open_batches(const std::string& results) {
  std::vector<OpenBatch> batches;
  std::error_code error;
  std::filesystem::directory_iterator entries(batches_folder(results), error);
  if (error == std::errc::no_such_file_or_directory) return batches;
  if (error) throw UnavailableError(fmt::format("error: cannot read {}: {}", batches_folder(results), error.message()));
  const std::string maker = maker_line();
  for (const auto& entry : entries) {
    const std::string folder = entry.path().string();
    if (::access((folder + "/submitted.json").c_str(), F_OK) == 0) continue;
    batches.push_back(read_open_batch(folder, entry.path().filename().string(), maker));
  }
  std::sort(batches.begin(), batches.end(), [](const OpenBatch& a, const OpenBatch& b) { return a.id < b.id; });
  return batches;
}

std::set<std::string> read_handed_over(const std::string& results) {
  std::set<std::string> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(batches_folder(results), error))
    all.merge(left_lines(split(read_file_if_there(entry.path().string() + "/handed.txt").value_or(""), '\n')));
  return all;
}

std::string AttemptBatch::write_hashes(const std::vector<AttemptKey>& attempts, const std::vector<std::string>& hashes) const {
  std::string lines;
  for (std::size_t i = 0; i < attempts.size(); ++i) lines += hashes[i] + " " + to_string(attempts[i]) + "\n";
  write_file(folder_ + "/" + kHashesFile, lines, Durability::none);
  return sha256_hex(lines);
}

std::string write_attempt_files(const RenderedAttempt& attempt) {
  write_plainly(attempt.folder + "/run.json", attempt.run_json, kStudyFile);
  write_plainly(attempt.folder + "/job.sh", attempt.job_sh, kStudyFolder);
  std::vector<std::string> decks;
  for (const FilledDeck& deck : attempt.decks) {
    const std::filesystem::path path = std::filesystem::path(output_folder(attempt.folder)) / deck.to;
    make_folders(path.parent_path().string());
    write_plainly(path.string(), deck.content, kStudyFile);
    decks.push_back(deck.content);
  }
  return attempt_hash(attempt.run_json, attempt.job_sh, decks);
}

}  // namespace hpcbench
