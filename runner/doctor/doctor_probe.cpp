#include "doctor/doctor_probe.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/interrupt.hpp"
#include "base/text.hpp"
#include "doctor/doctor_probe_facts.hpp"
#include "executors/slurm/slurm_parse.hpp"
#include "plan/placeholders.hpp"
#include "render/attempt.hpp"
#include "study/run_study.hpp"

namespace hpcbench {

namespace {

namespace fs = std::filesystem;

constexpr double kJobLimitS = 300;
constexpr double kLookPauseS = 0.02;  // between checks for files of nodes; bounds the error of clock differences
constexpr double kAskPauseS = 1;      // between calls of Slurm's tools
constexpr double kFilePatienceS = 5;  // files of a job that ended may appear a little later
constexpr double kCancelPatienceS = 20;
constexpr double kToolPatienceS = 60;
constexpr double kEndingPatienceS = 1;  // of a job on this machine after its termination request
constexpr std::size_t kWordsBytes = 4096;

/// A job of one shape, and its state.
struct ProbeJob {
  ProbeShape shape;
  std::size_t configuration = 0;
  std::string folder;
  std::string id;        // empty: not submitted; on this machine its process group
  std::string no_place;  // why Slurm does not accept it yet
  ProbeEnd end;
  std::optional<double> gone_s;            // when Slurm first reported it as ended
  std::map<std::string, double> answered;  // time by node
  bool over = false;
};

ProbeShape shape_of(const Study& study, const Configuration& configuration) {
  const SlurmShape slurm = slurm_shape(configuration);
  ProbeShape shape{configuration.nodes, std::nullopt, slurm.tasks_per_node * slurm.cpus_per_task};
  const bool counted = study.experiment.site.gres_type != "none" && !configuration.work->resources.gres;
  if (counted && configuration.gpus_per_node > 0) shape.gpus = configuration.gpus_per_node;
  return shape;
}

/// Returns the programs that a run starts on its nodes, if these are the same for all runs.
std::vector<std::string> programs_of(const Work& work) {
  const bool own_file = work.trainer.has_value();  // hpcbench-train lies beside hpcbench
  if (work.container) {
    if (work.container->runtime == ContainerRuntime::pyxis) return {};  // a plugin of Slurm
    return {to_string(work.container->runtime)};
  }
  if (own_file || work.shell || work.command.empty() || !placeholders_in(work.command.front()).empty()) return {};
  return {work.command.front()};
}

std::optional<int> status_in(const std::string& path) {
  const std::string text(trim(read_file_if_there(path).value_or("")));
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::stoi(text);
}

std::string last_line(const std::string& path) {
  std::string last;
  for (const std::string& line : split(read_tail(path, kWordsBytes), '\n')) {
    if (!trim(line).empty() && !line.starts_with("hpcbench: by hand:")) last = std::string(trim(line));
  }
  return last;
}

/// The jobs of one probe, in their own folder. The destructor ends the jobs and removes the folder.
class Probe {
 public:
  Probe(const Study& study, ToolRunner& tools, Clock& clock)
      : study_(study),
        tools_(tools),
        clock_(clock),
        local_(!executor_kind(study.experiment.executor).steps),
        token_(random_hex(8)),
        root_(study.results_root + "/.probe-" + token_) {
    had_results_ = fs::exists(study.results_root);
    make_folders(root_);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  ~Probe() {
    try {
      end_jobs();
    } catch (const std::exception&) {  // a job that cannot be ended ends at its time limit
    }
    std::error_code error;
    fs::remove_all(root_, error);
    if (!had_results_) fs::remove(study_.results_root, error);  // only if it is empty
  }

  void submit_all(Findings& findings);
  /// Waits until the limit; meanwhile submits again the jobs that Slurm did not accept at once.
  void wait(double limit_s, Findings& findings);
  void tell(double limit_s, Findings& findings) const;

 private:
  std::string job_name() const { return "hpcbench-probe-" + token_; }
  void write_scripts(const ProbeJob& job) const;
  void submit(ProbeJob& job, Findings& findings);
  SbatchAnswer submit_to_slurm(ProbeJob& job);
  ToolResult start_here(ProbeJob& job);
  void look(ProbeJob& job) const;
  void ask();
  void submit_waiting(Findings& findings);
  void ask_here();
  void end_jobs();
  void end_jobs_here();
  bool all_over() const;

  const Study& study_;
  ToolRunner& tools_;
  Clock& clock_;
  bool local_;
  std::string token_, root_;
  bool had_results_ = true;
  std::string hpcbench_;
  std::vector<ProbeJob> jobs_;
};

/// job.sh is the script of a manual run of `hpcbench probe-node`, so that the probe tests what a run loads and sets up.
void Probe::write_scripts(const ProbeJob& job) const {
  Plan plan = study_.selected();
  Configuration& configuration = plan.configurations[job.configuration];
  auto work = std::make_shared<Work>(*configuration.work);
  RenderContext context = make_render_context(study_);
  const std::vector<std::string> programs = programs_of(*work);
  work->trainer.reset();
  work->container.reset();
  work->files.clear();
  work->shell = false;
  work->launch = local_ ? Launch::once : Launch::node;
  work->metrics.clear();
  work->success = {};
  work->command = {context.hpcbench, "probe-node", job.folder};
  work->command.insert(work->command.end(), programs.begin(), programs.end());
  work->resources.time_s = std::min(work->resources.time_s.value_or(kJobLimitS), kJobLimitS);
  configuration.work = work;
  if (local_) configuration.nodes = 1;
  context.results = job.folder;
  const RenderedAttempt attempt =
      render_attempt(study_.experiment, plan, job.configuration, {RunKind::repeat, 1}, 1, "probe", context);
  std::string script = "#!/usr/bin/env bash\n";
  if (!local_) {
    for (const std::string& option : slurm_options(study_.experiment, configuration)) script += "#SBATCH " + option + "\n";
  }
  const std::string folder = shell_quote(job.folder);
  script += fmt::format(
      "unset HPCBENCH_TRY\ntouch {0}/began || exit\n{1} --version >/dev/null\nstatus=$?\necho $status >{0}/starts\n"
      "[ $status = 0 ] || exit $status\nbash {0}/job.sh\necho $? >{0}/ended\n",
      folder, shell_quote(context.hpcbench));
  write_file(job.folder + "/run.json", attempt.run_json, Durability::none);
  write_file(job.folder + "/job.sh", attempt.job_sh, Durability::none);
  write_file(job.folder + "/probe.sh", script, Durability::durable);
}

SbatchAnswer Probe::submit_to_slurm(ProbeJob& job) {
  SbatchAnswer answer =
      parse_sbatch(tools_.run({{"sbatch", "--parsable", "--no-requeue", "--job-name=" + job_name(), "--chdir=" + job.folder,
                                "--output=" + job.folder + "/job.log", job.folder + "/probe.sh"},
                               "",
                               kToolPatienceS}));
  job.id = answer.job;
  job.no_place = answer.kind == SbatchAnswer::Kind::limited ? answer.text : "";
  return answer;
}

/// Starts a job in its own session, which ends by a signal to its process group.
ToolResult Probe::start_here(ProbeJob& job) {
  ToolResult result =
      tools_.run({{"bash", "-c", "setsid bash probe.sh >job.log 2>&1 </dev/null & echo $!"}, job.folder, kToolPatienceS});
  if (result.succeeded()) job.id = trim(result.output);
  return result;
}

void Probe::submit(ProbeJob& job, Findings& findings) {
  const std::string words = local_ ? describe(start_here(job)) : submit_to_slurm(job).text;
  if (!job.id.empty() || !job.no_place.empty()) return;
  job.over = true;
  findings.push_back(
      {Finding::Kind::problem,
       fmt::format("the probe's job of {} was not {}: {}", describe(job.shape), local_ ? "started" : "submitted", words),
       local_ ? "see whether bash and setsid are installed"
              : "compare resources and the site's file with `scontrol show partition`"});
}

void Probe::submit_all(Findings& findings) {
  hpcbench_ = make_render_context(study_).hpcbench;
  std::map<std::tuple<int, int, int, std::string>, std::size_t> shapes;
  const std::vector<Configuration>& all = study_.selected().configurations;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Without other nodes, all shapes are this machine.
    const Configuration& each = all[i];
    const int nodes = local_ ? 1 : each.nodes;
    const int gpus = local_ ? 1 : each.gpus_per_node;
    shapes.try_emplace({nodes, gpus, local_ ? 1 : each.node_ranks(), local_ ? "" : each.work->partition.value_or("")}, i);
  }
  for (const auto& [shape, configuration] : shapes) {
    if (interrupted() != 0) return;
    ProbeJob job;
    if (local_) {
      job.end.nodes = "this machine";
    } else {
      job.shape = shape_of(study_, all[configuration]);
    }
    job.configuration = configuration;
    job.folder = fmt::format("{}/{}-{}x{}", root_, jobs_.size() + 1, std::get<0>(shape), std::get<1>(shape));
    make_folders(job.folder);
    write_scripts(job);
    jobs_.push_back(std::move(job));
    submit(jobs_.back(), findings);
  }
}

/// Submits jobs one after the other, as limits on jobs allow.
void Probe::submit_waiting(Findings& findings) {
  const auto waits = [](const ProbeJob& job) { return !job.no_place.empty() && !job.over; };
  for (auto job = std::find_if(jobs_.begin(), jobs_.end(), waits); job != jobs_.end();
       job = std::find_if(job, jobs_.end(), waits)) {
    submit(*job, findings);
    if (waits(*job)) return;
  }
}

/// Answers nodes that have begun, and reads their facts.
void Probe::look(ProbeJob& job) const {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(job.folder, error)) {
    const std::string node = entry.path().stem().string();
    if (entry.path().extension() == ".here" && !job.answered.contains(node)) {
      job.answered[node] = clock_.unix_s();
      write_file(job.folder + "/" + node + ".seen", "", Durability::none);
    } else if (entry.path().extension() == ".json" && job.answered.contains(node)) {
      const auto same = [&](const NodeWord& word) { return word.facts.node == node; };
      if (std::any_of(job.end.said.begin(), job.end.said.end(), same)) continue;
      const double seen_s = clock_.unix_s();
      if (const auto facts = parse_node_facts(read_file_if_there(entry.path()).value_or(""))) {
        job.end.said.push_back({*facts, job.answered[node], seen_s});
      }
    }
  }
  job.end.began = fs::exists(job.folder + "/began");
  job.end.starts_status = status_in(job.folder + "/starts");
  job.end.job_status = status_in(job.folder + "/ended");
  job.end.words = last_line(job.folder + "/job.log");
  const bool all_said = static_cast<int>(job.end.said.size()) >= job.shape.nodes;
  job.over = (job.gone_s && (local_ || clock_.monotonic_s() - *job.gone_s > kFilePatienceS)) ||
             (all_said && job.end.job_status) || (job.gone_s && job.end.starts_status.value_or(0) != 0);
}

void Probe::ask_here() {
  for (ProbeJob& job : jobs_) {
    if (job.id.empty()) continue;
    const pid_t leader = std::atoi(job.id.c_str());
    const bool alive = ::kill(leader, 0) == 0 || ::kill(-leader, 0) == 0;  // it may not lead its group yet
    if ((job.end.job_status || !alive) && !job.gone_s) job.gone_s = clock_.monotonic_s();
  }
}

void Probe::ask() {
  if (local_) return ask_here();
  const ToolResult answer = tools_.run({squeue_arguments(), "", kToolPatienceS});
  if (!answer.succeeded()) return;  // a tool's failure proves nothing
  const std::vector<SlurmJob> known = parse_squeue(answer.output);
  for (ProbeJob& job : jobs_) {
    if (job.id.empty()) continue;
    const auto at = std::find_if(known.begin(), known.end(), [&](const SlurmJob& each) { return each.id == job.id; });
    if (at != known.end()) {
      job.end.state = at->state;
      job.end.reason = at->reason;
      if (!at->nodes.empty()) job.end.nodes = at->nodes;
    }
    const bool gone = at == known.end() || phase_of(at->state) == JobState::ended;
    if (gone && !job.gone_s) job.gone_s = clock_.monotonic_s();
  }
}

bool Probe::all_over() const {
  return std::all_of(jobs_.begin(), jobs_.end(), [](const ProbeJob& job) { return job.over; });
}

void Probe::wait(double limit_s, Findings& findings) {
  const double end_s = clock_.monotonic_s() + limit_s;
  double ask_s = clock_.monotonic_s();
  while (!all_over() && interrupted() == 0) {
    for (ProbeJob& job : jobs_) {
      if (!job.over) look(job);
    }
    const double now_s = clock_.monotonic_s();
    if (now_s >= ask_s) {
      ask();
      submit_waiting(findings);
      ask_s = clock_.monotonic_s() + kAskPauseS;
    }
    if (now_s >= end_s) break;
    clock_.sleep(kLookPauseS);
  }
  for (ProbeJob& job : jobs_) job.end.timed_out = !job.over;
}

void Probe::end_jobs_here() {
  for (const int signal : {SIGTERM, SIGKILL}) {
    ask_here();
    bool asked = false;
    for (const ProbeJob& job : jobs_) {
      if (!job.id.empty() && !job.gone_s) asked = ::kill(-std::atoi(job.id.c_str()), signal) == 0 || asked;
    }
    if (!asked) return;
    clock_.sleep(kEndingPatienceS);
  }
}

/// Cancels by name, to include jobs that sbatch did not report. Then waits until no job can write to the folder.
void Probe::end_jobs() {
  if (jobs_.empty()) return;
  if (local_) return end_jobs_here();
  tools_.run({{"scancel", "--quiet", "--name=" + job_name()}, "", kToolPatienceS});
  const double end_s = clock_.monotonic_s() + kCancelPatienceS;
  const auto gone = [](const ProbeJob& job) { return job.id.empty() || job.gone_s; };
  while (clock_.monotonic_s() < end_s) {
    ask();
    if (std::all_of(jobs_.begin(), jobs_.end(), gone)) return;
    clock_.sleep(kAskPauseS);
  }
}

void Probe::tell(double limit_s, Findings& findings) const {
  for (const ProbeJob& job : jobs_) {
    if (!job.no_place.empty() && !job.over) {
      findings.push_back(
          {Finding::Kind::warning,
           fmt::format("the probe's job of {} was not submitted: Slurm takes no more jobs of yours now: {}",
                       describe(job.shape), job.no_place),
           "ask again when some of them have ended, or with a longer --probe-timeout; `hpcbench run` would wait"});
    }
    if (job.id.empty()) continue;
    if (local_) {
      find_in_probe_here(job.end, hpcbench_, limit_s, findings);
    } else {
      find_in_probe(job.shape, job.end, hpcbench_, limit_s, findings);
    }
  }
}

}  // namespace

void probe_nodes(const Study& study, ToolRunner& tools, Clock& clock, double limit_s, Findings& findings) {
  catch_interrupts();
  Probe probe(study, tools, clock);
  probe.submit_all(findings);
  probe.wait(limit_s, findings);
  if (interrupted() == 0) probe.tell(limit_s, findings);
}

}  // namespace hpcbench
