#include "executors/slurm/slurm_parse.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr int kMostArrayElements = 4'000'000;  // Slurm's own limit of MaxArraySize
constexpr std::size_t kMostJobs = 1'000'000;   // of one answer, more than a controller holds; the rest is passed over

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<int> to_index(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!is_digits(text) || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

template <std::size_t N>
bool holds_any(std::string_view text, const std::array<std::string_view, N>& needles) {
  return std::any_of(needles.begin(), needles.end(), [&](std::string_view needle) { return text.find(needle) != text.npos; });
}

/// The id that `sbatch --parsable` prints, `123` or `123;cluster`, in a line of its own among others; absent if there are none
/// or several.
std::optional<std::string> submitted_id(std::string_view output) {
  std::optional<std::string> found;
  for (const std::string& line : split(output, '\n')) {
    const std::string_view id = std::string_view(line).substr(0, line.find(';'));
    if (!is_digits(id) || id.size() > 18) continue;
    if (found) return std::nullopt;
    found = std::string(id);
  }
  return found;
}

// The texts of slurm_strerror and of sbatch itself after which it is certain that no job was made.
constexpr std::array<std::string_view, 4> kBusyTexts = {"Unable to contact slurm controller (connect failure)",
                                                        "Resource temporarily unavailable",
                                                        "Slurm backup controller in standby mode", "Rate limit exceeded"};
// Its last word: what it says when it begins to wait tells nothing of the tries that follow.
constexpr std::string_view kFullText = "Batch job submission failed: Resource temporarily unavailable";
constexpr std::array<std::string_view, 2> kLimitTexts = {"MaxSubmit", "GrpSubmit"};
constexpr std::array<std::string_view, 2> kPolicyTexts = {"Job violates accounting/QOS policy",
                                                          "Job violates accounting policy"};
constexpr std::array<std::string_view, 50> kRefusalTexts = {"Invalid partition name specified",
                                                            "invalid partition specified",
                                                            "Invalid account or account/partition combination specified",
                                                            "Invalid qos specification",
                                                            "Invalid generic resource (gres) specification",
                                                            "Invalid job array specification",
                                                            "Requested time limit is invalid",
                                                            "Requested node configuration is not available",
                                                            "More processors requested than permitted",
                                                            "Memory specification can not be satisfied",
                                                            "Node count specification invalid",
                                                            "Requested partition configuration not available now",
                                                            "Requested reservation is invalid",
                                                            "Requested reservation not usable now",
                                                            "Invalid feature specification",
                                                            "User's group not permitted to use this partition",
                                                            "Access/permission denied",
                                                            "Required node not available",
                                                            "Required partition not available",
                                                            "Unspecified error in job_submit plugin",
                                                            "Job dependency problem",
                                                            "Invalid node name specified",
                                                            "Invalid Trackable RESource",
                                                            "Invalid license specification",
                                                            "Invalid cpu or task count",
                                                            "CPU count specification invalid",
                                                            "CPU count per node can not be satisfied",
                                                            "Pathname of a file, directory or other parameter too long",
                                                            "Job size specification needs to be at least",
                                                            "Invalid Slurm user",
                                                            "Invalid user id",
                                                            "Invalid group id",
                                                            "User is not in",
                                                            "not a valid user",
                                                            "Batch script is empty",
                                                            "Batch job submission failed: Invalid",
                                                            "Batch job submission failed: Requested",
                                                            "Unable to open file",
                                                            "Unable to open batch",
                                                            "This does not look like a batch script",
                                                            "Batch script contains DOS line breaks",
                                                            "Batch script contains null",
                                                            "unrecognized option",
                                                            "invalid option",
                                                            "option requires an argument",
                                                            "Invalid --",
                                                            "Invalid numeric value",
                                                            "Could not establish a configuration source",
                                                            "Unable to process configuration file",
                                                            "Invalid directive found in batch script"};

/// `AssocMaxSubmitJobLimit`, `QOSGrpSubmitJobsLimit`: the reasons of a policy that time alone cures.
SbatchAnswer::Kind judge_policy(std::string_view text) {
  if (holds_any(text, kLimitTexts)) return SbatchAnswer::Kind::limited;
  const bool other_reason = text.find("error: QOS") != text.npos || text.find("error: Assoc") != text.npos;
  return other_reason ? SbatchAnswer::Kind::refused : SbatchAnswer::Kind::limited;
}

SbatchAnswer::Kind judge_sbatch(const ToolResult& result) {
  if (result.kind == ToolResult::Kind::not_started) return SbatchAnswer::Kind::refused;
  // A line that looks like an id makes it doubtful, whatever else it says.
  if (result.kind != ToolResult::Kind::exited || result.status == 0) return SbatchAnswer::Kind::doubtful;
  if (!trim(result.output).empty()) return SbatchAnswer::Kind::doubtful;
  const std::string& text = result.errors;
  if (holds_any(text, kPolicyTexts)) return judge_policy(text);
  if (holds_any(text, kLimitTexts)) return SbatchAnswer::Kind::limited;
  if (holds_any(text, kRefusalTexts)) return SbatchAnswer::Kind::refused;
  if (text.find(kFullText) != text.npos) return SbatchAnswer::Kind::full;
  if (holds_any(text, kBusyTexts)) return SbatchAnswer::Kind::busy;
  return SbatchAnswer::Kind::doubtful;
}

/// `5-8,10%2` as numbers; nothing for a text that is none.
std::vector<int> expand_indices(std::string_view text) {
  std::vector<int> indices;
  text = text.substr(0, text.find('%'));
  for (const std::string& part : split(text, ',')) {
    const std::string_view range = part;
    const std::size_t dash = range.find('-');
    const std::size_t colon = range.find(':');
    const std::optional<int> first = to_index(range.substr(0, std::min(dash, colon)));
    const std::optional<int> last =
        dash == range.npos ? first : to_index(range.substr(dash + 1, colon == range.npos ? colon : colon - dash - 1));
    const std::optional<int> step = colon == range.npos ? 1 : to_index(range.substr(colon + 1));
    if (!first || !last || !step || *step < 1 || *last < *first || *last > kMostArrayElements) return {};
    if (indices.size() + static_cast<std::size_t>(*last - *first) > kMostArrayElements) return {};
    for (std::int64_t index = *first; index <= *last; index += *step) indices.push_back(static_cast<int>(index));
  }
  return indices;
}

/// The jobs that an id stands for: one, or the elements of `21_[5-8%2]`. `job` holds all but the id.
void add_jobs(std::vector<SlurmJob>& jobs, std::string_view id, SlurmJob job) {
  const std::size_t bar = id.find('_');
  job.array = std::string(id.substr(0, bar));
  // Parts of heterogeneous jobs (`59+0`) and steps (`7.batch`) are never ours.
  if (!is_digits(job.array) || jobs.size() >= kMostJobs) return;
  if (bar == id.npos) {
    job.id = job.array;
    jobs.push_back(std::move(job));
    return;
  }
  std::string_view element = id.substr(bar + 1);
  if (element.starts_with('[') && element.ends_with(']')) element = element.substr(1, element.size() - 2);
  for (const int index : expand_indices(element)) {
    if (jobs.size() >= kMostJobs) return;
    job.index = index;
    job.id = fmt::format("{}_{}", job.array, index);
    jobs.push_back(job);
  }
}

/// Fields between `|`; the last takes the rest, as a name may hold `|` itself. Empty if there are fewer.
std::vector<std::string> fields_of(std::string_view line, std::size_t count) {
  std::vector<std::string> fields;
  while (fields.size() + 1 < count) {
    const std::size_t end = line.find('|');
    if (end == line.npos) return {};
    fields.emplace_back(line.substr(0, end));
    line.remove_prefix(end + 1);
  }
  fields.emplace_back(line);
  return fields;
}

/// What Slurm prints for nothing.
std::string filled(std::string text) {
  for (const std::string_view nothing : {"None", "N/A", "Unknown", "(null)", "None assigned", "none"}) {
    if (text == nothing) return {};
  }
  return text;
}

/// `QOSMaxGRESPerUser`, `AssocGrpCPUMinutesLimit` ...: whose limit, and whether time alone cures it.
std::optional<std::string> explain_limit(std::string_view reason) {
  const bool of_qos = reason.starts_with("QOS");
  if (!of_qos && !reason.starts_with("Assoc") && !reason.starts_with("MaxJobsPerAccount")) return std::nullopt;
  const auto says = [&](std::string_view word) { return reason.find(word) != reason.npos; };
  const std::string whose = of_qos ? "QOS" : "account";
  if (says("RunMinutes")) return fmt::format("running jobs hold all the time that its {} grants at once", whose);
  if (says("Minutes") && !says("PerJob")) return fmt::format("the time budget of its {} is used up", whose);
  if (says("PerJob") || says("PerNode") || says("WallDuration") || says("QOSMin") || says("MaxWall") || says("TimeLimit"))
    return fmt::format("it asks for more (or less) than its {} allows a job: it will not start; cancel it", whose);
  return fmt::format("as much as its {} allows at a time is in use; it starts when other jobs have ended", whose);
}

/// `2026-11-21T13:04:05`, in local time, as all tools print times.
std::optional<double> to_unix_s(const std::string& time) {
  std::tm local{};
  const char* const end = ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &local);
  if (end == nullptr || *end != '\0') return std::nullopt;
  local.tm_isdst = -1;
  const std::time_t seconds = std::mktime(&local);
  return seconds < 0 ? std::nullopt : std::optional<double>(static_cast<double>(seconds));
}

/// Numbers of users, as Slurm's tools take them.
std::string me_and(const std::set<unsigned int>& others) {
  std::string users = std::to_string(::getuid());
  for (const unsigned int other : others) users += fmt::format(",{}", other);
  return users;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find_first_of(" +")); }

}  // namespace

SbatchAnswer parse_sbatch(const ToolResult& result) {
  if (result.succeeded()) {
    if (const std::optional<std::string> id = submitted_id(result.output)) {
      return {SbatchAnswer::Kind::accepted, *id, {}};
    }
  }
  return {judge_sbatch(result), {}, describe(result)};
}

std::vector<std::string> squeue_arguments(const std::set<unsigned int>& others) {
  return {"squeue", others.empty() ? "--me" : "--user=" + me_and(others), "-h", "-r", "-t", "all", "-o", "%i|%T|%r|%N|%S|%j"};
}

std::vector<SlurmJob> parse_squeue(std::string_view output) {
  std::vector<SlurmJob> jobs;
  for (const std::string& line : split(output, '\n')) {
    const std::vector<std::string> fields = fields_of(line, 6);
    if (fields.empty() || fields[1].empty()) continue;
    add_jobs(jobs, fields[0],
             {.id = {},
              .array = {},
              .name = fields[5],
              .state = first_word(fields[1]),
              .reason = filled(fields[2]),
              .nodes = filled(fields[3]),
              .start = filled(fields[4])});
  }
  return jobs;
}

std::vector<std::string> sacct_arguments(const std::string& since, const std::set<unsigned int>& others) {
  return {"sacct", "-X", "-n", "-P", "-u", me_and(others), "-S", since, "-o", "JobID,State,NodeList,Start,JobName"};
}

std::string sacct_time(double unix_s) {
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &local);
  return text.data();
}

std::vector<SlurmJob> parse_sacct(std::string_view output) {
  std::vector<SlurmJob> jobs;
  for (const std::string& line : split(output, '\n')) {
    const std::vector<std::string> fields = fields_of(line, 5);
    if (fields.empty() || fields[1].empty()) continue;
    const std::size_t by = fields[1].find(" by ");
    add_jobs(jobs, fields[0],
             {.id = {},
              .array = {},
              .name = fields[4],
              .state = first_word(fields[1]),
              .reason = by == std::string::npos ? "" : fields[1].substr(by + 1),
              .nodes = filled(fields[2]),
              .start = filled(fields[3])});
  }
  return jobs;
}

bool is_early_record(const SlurmJob& job) { return job.name == "allocation"; }

bool has_accounting(const ToolResult& sacct) {
  if (sacct.kind == ToolResult::Kind::not_started) return false;
  return sacct.succeeded() || sacct.errors.find("accounting storage is disabled") == std::string::npos;
}

std::optional<std::string> config_value(std::string_view output, std::string_view key) {
  for (const std::string& line : split(output, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || trim(std::string_view(line).substr(0, equals)) != key) continue;
    return std::string(trim(std::string_view(line).substr(equals + 1)));
  }
  return std::nullopt;
}

std::optional<int> parse_max_array_size(std::string_view output) {
  constexpr std::string_view kFewer = "max_array_tasks=";
  std::optional<int> size = to_index(config_value(output, "MaxArraySize").value_or(""));
  for (const std::string& parameter : split(config_value(output, "SchedulerParameters").value_or(""), ',')) {
    const bool limits = size && parameter.starts_with(kFewer);
    if (limits) size = std::min(*size, to_index(parameter.substr(kFewer.size())).value_or(*size));
  }
  return size;
}

std::optional<double> parse_controller_start(std::string_view output) {
  return to_unix_s(config_value(output, "BOOT_TIME").value_or(""));
}

SlurmJobTimes parse_job_times(std::string_view output) {
  const auto time_of = [&](std::string_view key) -> std::optional<double> {
    const std::size_t place = output.find(key);
    if (place == output.npos) return std::nullopt;
    const std::string_view rest = output.substr(place + key.size());
    return to_unix_s(std::string(rest.substr(0, rest.find_first_of(" \n"))));
  };
  return {.submitted = time_of(" SubmitTime="), .ended = time_of(" EndTime=")};
}

JobState phase_of(std::string_view state) {
  constexpr std::array<std::string_view, 12> kEnded = {"COMPLETED", "FAILED",        "TIMEOUT",       "CANCELLED",
                                                       "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",     "BOOT_FAIL",
                                                       "DEADLINE",  "REVOKED",       "LAUNCH_FAILED", "RECONFIG_FAIL"};
  constexpr std::array<std::string_view, 6> kWaiting = {"PENDING",     "REQUEUED",     "REQUEUE_HOLD",
                                                        "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"};
  if (std::find(kEnded.begin(), kEnded.end(), state) != kEnded.end()) return JobState::ended;
  if (std::find(kWaiting.begin(), kWaiting.end(), state) != kWaiting.end()) return JobState::waiting;
  return JobState::running;
}

std::optional<std::string> explain_reason(std::string_view reason) {
  struct Explanation {
    std::string_view reason;
    const char* text;
  };
  constexpr std::array kExplanations = std::to_array<Explanation>({
      {"PartitionDown", "its partition is down: it hands no jobs to nodes until it is up (`sinfo`)"},
      {"PartitionInactive", "its partition is inactive (`sinfo`)"},
      {"PartitionNodeLimit", "it asks for more nodes than the partition allows, or has: it will not start; cancel it"},
      {"PartitionTimeLimit", "it asks for more time than the partition allows: it will not start; cancel it"},
      {"PartitionConfig", "it asks for what the partition does not have or allow"},
      {"DependencyNeverSatisfied", "a job that it waits for has failed: it will never start; cancel it"},
      {"InvalidAccount", "its account is not valid; set `account` in the site file"},
      {"InvalidQOS", "its QOS is not valid; set `qos` in the site file"},
      {"AccountNotAllowed", "the partition does not allow its account"},
      {"QOSNotAllowed", "the partition or the account does not allow its QOS"},
      {"AccountingPolicy", "a limit of its account or QOS is reached"},
      {"BadConstraints", "no node has what it asks for (constraint, cores, memory or GPUs): it will not start; cancel it"},
      {"JobHeldUser", "it is held; `scontrol release JOB` lets it go"},
      {"JobHeldAdmin", "an administrator holds it"},
      {"job requeued in held state", "Slurm holds it after a failure; `scontrol release JOB` lets it go"},
      {"launch failed requeued held", "Slurm could not start it and holds it; `scontrol release JOB` lets it go"},
      {"ReqNodeNotAvail", "nodes that it needs are down, drained or reserved (`sinfo -R` says why)"},
      {"Nodes required for job are DOWN", "nodes that it needs are down, drained or reserved (`sinfo -R` says why)"},
      {"NodeDown", "a node that it needs is down (`sinfo -R` says why)"},
      {"FrontEndDown", "no front end runs that could start it"},
      {"ReservationDeleted", "its reservation is no longer there; mend `reservation` in the site file"},
      {"ReservationInvalid", "its reservation is not valid; mend `reservation` in the site file"},
      {"Reservation", "its reservation has not begun or is full (`scontrol show reservation`)"},
      {"MaxMemPerLimit", "it asks for more memory than is allowed: it will not start; cancel it"},
      {"Licenses", "it waits for a license (`scontrol show licenses`)"},
      {"BurstBuffer", "it waits for the burst buffer"},
      {"SystemFailure", "Slurm, its file system or network failed"},
      {"FedJobLock", "it waits for its federation of clusters"},
  });
  for (const Explanation& explanation : kExplanations) {
    if (reason.starts_with(explanation.reason)) return explanation.text;
  }
  return explain_limit(reason);
}

}  // namespace hpcbench
