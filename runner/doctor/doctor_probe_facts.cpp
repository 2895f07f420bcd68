#include "doctor/doctor_probe_facts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr double kMostClockOffsetS = 1;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

using Kind = Finding::Kind;

template <typename Number>
std::optional<Number> number_in(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number()) return std::nullopt;
  return at->template get<Number>();
}

void find_clock(const NodeWord& word, Findings& findings) {
  if (!word.facts.answered) {
    findings.push_back({Kind::warning, fmt::format("node {} did not see a file of this machine in time", word.facts.node),
                        "expect that cancelled jobs notice it late; a file system with a shorter cache helps (--results)"});
    return;
  }
  const double spread_s = (word.seen_unix_s - word.asked_unix_s) / 2;
  const double offset_s = word.facts.unix_s - (word.asked_unix_s + spread_s);
  const std::string text = fmt::format("the clock of node {} is {:.0f} ms {} this one's (± {:.0f} ms)", word.facts.node,
                                       std::abs(offset_s) * 1000, offset_s < 0 ? "behind" : "ahead of", spread_s * 1000);
  if (std::abs(offset_s) - spread_s <= kMostClockOffsetS) {
    findings.push_back({Kind::fine, text, ""});
  } else {
    findings.push_back({Kind::warning, text, "ask the administrators for NTP; times of different nodes do not compare"});
  }
}

/// Returns the known facts: `; 2 GPUs; 8 cores usable, 8 granted`.
std::string describe_means(const NodeFacts& facts) {
  std::string has;
  if (facts.gpus) has += fmt::format("; {}", counted(*facts.gpus, "GPU", "GPUs"));
  if (facts.usable_cores) has += fmt::format("; {} usable", counted(*facts.usable_cores, "core", "cores"));
  if (facts.granted_cores) has += fmt::format(", {} granted", *facts.granted_cores);
  if (facts.granted_memory_mb) has += fmt::format("; {:.0f} MB of memory granted", *facts.granted_memory_mb);
  if (facts.torch) has += "; PyTorch " + *facts.torch;
  return has;
}

void find_missing(const NodeFacts& facts, const std::string& where, Findings& findings) {
  for (const std::string& program : facts.missing) {
    findings.push_back({Kind::problem, fmt::format("{} has no program `{}` after `modules` and `setup`", where, program),
                        "let `modules` or `setup` bring it, or mend `command`"});
  }
}

void find_node(const ProbeShape& shape, const NodeWord& word, Findings& findings) {
  const NodeFacts& facts = word.facts;
  if (shape.gpus && !facts.gpus) {
    findings.push_back(
        {Kind::warning,
         fmt::format("node {} has no nvidia-smi: whether its {} GPUs are there is not known", facts.node, *shape.gpus),
         "say `gres_type: none` in the site's file where there are no GPUs; nodes with NVIDIA's need its driver"});
  } else if (shape.gpus && *facts.gpus < *shape.gpus) {
    findings.push_back({Kind::problem,
                        fmt::format("node {} shows {} of {} GPUs (nvidia-smi -L)", facts.node, *facts.gpus, *shape.gpus),
                        "mend `partition` or `gres_type` in the site's file, or report the node to the administrators"});
  }
  find_missing(facts, "node " + facts.node, findings);
  const std::optional<int> cores = facts.usable_cores;
  if (cores && *cores < shape.cores) {
    findings.push_back({Kind::warning, fmt::format("node {} lets the job use {} of {} cores", facts.node, *cores, shape.cores),
                        "compare resources.cpus_per_task with `scontrol show partition`"});
  }
  const std::string has =
      fmt::format("node {}: hpcbench starts; a file it wrote in the results folder was seen here after an answer in {:.0f} ms",
                  facts.node, (word.seen_unix_s - word.asked_unix_s) * 1000);
  findings.push_back({Kind::fine, has + describe_means(facts), ""});
  find_clock(word, findings);
}

/// Returns why the job's nodes said nothing; nullopt if nothing failed.
std::optional<Finding> failure_of(const ProbeEnd& end, const std::string& job, const std::string& hpcbench, double limit_s) {
  const std::string where = end.nodes.empty() ? "there" : "on " + end.nodes;
  const std::string words = end.words.empty() ? "" : ": " + end.words;
  if (end.timed_out && !end.began) {
    return Finding{Kind::problem,
                   fmt::format("{} did not begin within {} (Slurm says {}{}) and was cancelled", job, human_duration(limit_s),
                               end.state.empty() ? "nothing" : end.state, end.reason.empty() ? "" : ", " + end.reason),
                   "wait longer with --probe-timeout, or see with `squeue` and `sinfo` what the partition waits for"};
  }
  if (!end.began) {
    return Finding{Kind::problem, fmt::format("{} ended ({}) and left no file in the results folder{}", job, end.state, words),
                   "name a folder that all nodes see with --results"};
  }
  if (end.starts_status && *end.starts_status != 0) {
    const bool absent = *end.starts_status == kNotFound || *end.starts_status == kCannotExecute;
    return Finding{Kind::problem,
                   fmt::format("{} does not start {} ({}, exit status {}){}", hpcbench, where,
                               absent ? "not there, or not for that machine" : "it fails", *end.starts_status, words),
                   "say `hpcbench: PATH` in the site's file: where this program is on the nodes"};
  }
  if (end.timed_out) {
    return Finding{Kind::problem,
                   fmt::format("{} did not end within {} and was cancelled{}", job, human_duration(limit_s), words),
                   "see whether `modules` or `setup` wait for something, or wait longer with --probe-timeout"};
  }
  if (end.said.empty()) {
    return Finding{Kind::problem,
                   fmt::format("{}: `modules`, `setup` or the launcher fail {} (exit status {}){}", job, where,
                               end.job_status ? std::to_string(*end.job_status) : "unknown", words),
                   "mend `modules` and `setup` (`module avail` in a job lists what there is)"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<NodeFacts> parse_node_facts(std::string_view json) {
  const nlohmann::json object = nlohmann::json::parse(json, nullptr, false);
  if (!object.is_object() || !object.contains("node") || !object["node"].is_string()) return std::nullopt;
  const std::optional<double> unix_s = number_in<double>(object, "unix_s");
  if (!unix_s) return std::nullopt;
  NodeFacts facts;
  facts.node = object["node"].get<std::string>();
  facts.unix_s = *unix_s;
  facts.gpus = number_in<int>(object, "gpus");
  facts.usable_cores = number_in<int>(object, "usable_cores");
  facts.granted_cores = number_in<int>(object, "granted_cores");
  facts.granted_memory_mb = number_in<double>(object, "granted_memory_mb");
  if (const auto missing = object.find("missing"); missing != object.end() && missing->is_array()) {
    for (const nlohmann::json& program : *missing) {
      if (program.is_string()) facts.missing.push_back(program.get<std::string>());
    }
  }
  if (const auto torch = object.find("torch"); torch != object.end() && torch->is_string())
    facts.torch = torch->get<std::string>();
  facts.answered = object.contains("answered") && object["answered"] == true;
  return facts;
}

std::string describe(const ProbeShape& shape) {
  const std::string nodes = counted(shape.nodes, "node", "nodes");
  return shape.gpus ? fmt::format("{} with {}", nodes, counted(*shape.gpus, "GPU", "GPUs")) + (shape.nodes > 1 ? " each" : "")
                    : nodes;
}

void find_in_probe(const ProbeShape& shape, const ProbeEnd& end, const std::string& hpcbench, double limit_s,
                   Findings& findings) {
  const std::string job = "the probe's job of " + describe(shape);
  if (const std::optional<Finding> failure = failure_of(end, job, hpcbench, limit_s)) findings.push_back(*failure);
  for (const NodeWord& word : end.said) find_node(shape, word, findings);
  const int silent = shape.nodes - static_cast<int>(end.said.size());
  if (!end.said.empty() && silent > 0) {
    findings.push_back(
        {Kind::problem,
         fmt::format("{}: {} of {} nodes said nothing{}", job, silent, shape.nodes, end.words.empty() ? "" : ": " + end.words),
         "see whether all nodes of the partition share the results folder and start hpcbench"});
  }
}

void find_in_probe_here(const ProbeEnd& end, const std::string& hpcbench, double limit_s, Findings& findings) {
  if (const std::optional<Finding> failure = failure_of(end, "the probe", hpcbench, limit_s)) {
    findings.push_back(*failure);
    return;
  }
  find_missing(end.said.front().facts, "this machine", findings);
  const std::string looked =
      "probe on this machine: hpcbench starts, `modules` and `setup` work, and a job writes to the results folder";
  findings.push_back({Kind::fine, looked + describe_means(end.said.front().facts), ""});
}

}  // namespace hpcbench
