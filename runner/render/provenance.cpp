#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "render/attempt.hpp"

namespace hpcbench {

namespace {

constexpr long long kWholeFileBytes = 10'000'000;  // larger files are sampled
constexpr long long kSampledBlocks = 160;
constexpr std::size_t kBlockBytes = 64 << 10;
constexpr double kGitPatience = 60;  // seconds: `status` reads a whole tree, on a slow file system perhaps

/// The output of a git command in `folder`; absent if it fails, or takes longer than anybody would wait.
std::optional<std::string> git_output(const std::string& folder, const std::vector<std::string>& arguments) {
  ToolCall call{{"git", "--no-optional-locks", "-C", folder}, "", kGitPatience};
  call.argv.insert(call.argv.end(), arguments.begin(), arguments.end());
  ToolResult result = run_tool(call);
  if (!result.succeeded()) return std::nullopt;
  return std::move(result.output);
}

/// What changes when a file's content does; hashing it again for each of a thousand attempts would cost more than all else.
struct HashedFile {
  std::tuple<dev_t, ino_t, off_t, time_t, long> fingerprint;
  std::string sha256;
};

/// Hash of a large file's size and of blocks spread over it, the first and the last among them. nullopt if it cannot be read.
std::optional<std::string> sampled_hash(const std::string& path, long long bytes) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return std::nullopt;
  std::string sample = fmt::format("sampled {}\n", bytes);
  const long long last = bytes - static_cast<long long>(kBlockBytes);
  for (long long block = 0; block < kSampledBlocks; ++block) {
    const std::size_t begin = sample.size();
    sample.resize(begin + kBlockBytes);
    const long long at = block + 1 == kSampledBlocks ? last : last / (kSampledBlocks - 1) * block;
    const ssize_t got = ::pread(fd.get(), sample.data() + begin, kBlockBytes, at);
    if (got < 0) return std::nullopt;
    sample.resize(begin + static_cast<std::size_t>(got));
  }
  return sha256_hex(sample);
}

}  // namespace

std::optional<std::string> code_hash(const std::string& path) {
  static std::map<std::string, HashedFile> known;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto fingerprint =
      std::tuple(status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  HashedFile& file = known[path];
  if (file.sha256.empty() || file.fingerprint != fingerprint) {
    const bool is_large = status.st_size > kWholeFileBytes;
    const std::optional<std::string> hash = is_large ? sampled_hash(path, status.st_size) : sha256_of_file(path);
    if (!hash) return std::nullopt;  // not ours to read: nothing is known of it
    file = {fingerprint, *hash};
  }
  return file.sha256;
}

std::optional<ProgramFile> program_on_path(const std::vector<std::string>& words, const std::string& path_variable,
                                           const std::string& folder) {
  if (words.empty() || words.front().empty() || words.front().find_first_of(std::string("/\0", 2)) != std::string::npos)
    return std::nullopt;
  for (const std::string& part : split(path_variable, ':')) {
    const std::filesystem::path path = (std::filesystem::path(folder) / part / words.front()).lexically_normal();
    if (::access(path.c_str(), X_OK) != 0 || std::filesystem::is_directory(path)) continue;
    const std::optional<std::string> hash = code_hash(path.string());
    return hash ? std::optional(ProgramFile{words.front(), path.string(), *hash}) : std::nullopt;
  }
  return std::nullopt;
}

namespace {

/// `-o`, `--output`, `--logfile`: the run writes what such an option names.
bool is_output_option(std::string_view word) {
  if (!word.starts_with('-')) return false;
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  return word == "o" || word.starts_with("out") || word.starts_with("log");
}

}  // namespace

std::vector<CodeFile> code_files(const std::vector<std::string>& command, const std::string& folder) {
  std::vector<CodeFile> files;
  const auto add = [&](const std::string& path) {
    const bool known = std::any_of(files.begin(), files.end(), [&](const CodeFile& file) { return file.path == path; });
    if (path.empty() || known || path.find('\0') != std::string::npos) return false;
    const std::optional<std::string> hash = code_hash((std::filesystem::path(folder) / path).string());
    if (hash) files.push_back({path, *hash});
    return hash.has_value();
  };
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& argument = command[i];
    if (i == 0 && argument.find('/') == std::string::npos) continue;  // looked up on PATH
    const std::size_t equals = argument.find('=');
    if (is_output_option(argument.substr(0, equals)) && equals != std::string::npos) continue;
    if (i > 0 && is_output_option(command[i - 1]) && command[i - 1].find('=') == std::string::npos) continue;
    if (!add(argument) && equals != std::string::npos) add(argument.substr(equals + 1));
  }
  return files;
}

Provenance find_provenance(const std::string& folder) {
  Provenance provenance{.hpcbench_version = HPCBENCH_VERSION, .commit = std::nullopt, .dirty = std::nullopt};
  const std::optional<std::string> commit = git_output(folder, {"rev-parse", "--verify", "HEAD"});
  if (!commit) return provenance;
  provenance.commit = std::string(trim(*commit));
  const std::optional<std::string> changes = git_output(folder, {"status", "--porcelain", "--untracked-files=no"});
  if (changes) provenance.dirty = !trim(*changes).empty();
  return provenance;
}

std::string load_template(const std::string& name) {
  namespace fs = std::filesystem;
  if (name.find('/') != std::string::npos) return read_file(name);
  const fs::path program = program_folder();
  const std::array<fs::path, 3> folders = {fs::path("templates"), program / "../templates",
                                           program / "../share/hpcbench/templates"};
  for (const fs::path& folder : folders) {
    if (std::optional<std::string> text = read_file_if_there(folder / name)) return *text;
  }
  throw UnavailableError(fmt::format("error: cannot find the template {}; looked in ./templates, {} and {}", name,
                                     folders[1].lexically_normal().string(), folders[2].lexically_normal().string()));
}

}  // namespace hpcbench
