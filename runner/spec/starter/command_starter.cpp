#include "spec/starter/command_starter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "base/value.hpp"
#include "spec/fields.hpp"
#include "spec/names_gpus.hpp"
#include "spec/placeholders.hpp"

namespace hpcbench {

namespace {

using OptionNames = std::vector<std::string_view>;

/// An option that says how many there are of something.
struct CountOption {
  OptionNames names;     // with `-` for `_`
  std::string_view now;  // the placeholder that it gets
};

struct Launcher {
  OptionNames programs;
  std::string_view subcommand;
  std::vector<CountOption> counts;
  std::string_view own;            // inserted where no option but that of nodes is given
  bool values_by_default = false;  // an option takes the next word as its value, unless it is one of `exceptions`
  OptionNames exceptions;
  std::string_view meeting;   // what each node's launcher is told where there are several
  OptionNames meeting_names;  // options that say so already
  std::string_view launch;
  std::string_view why;
};

const std::vector<Launcher>& launchers() {
  static const OptionNames kMpiValues = {
      "-bind-to",   "-map-by", "-rank-by",  "-hostfile", "-machinefile",     "-host",    "-H",     "-x",
      "-wdir",      "-wd",     "-rankfile", "-rf",       "-output-filename", "-timeout", "-iface", "-launcher",
      "-bootstrap", "-genv",   "-f",        "-c",        "-cpus-per-proc"};
  static const std::vector<CountOption> kMpiCounts = {{{"-n", "-np", "-c"}, "ranks"},
                                                      {{"-npernode", "-N", "-ppn", "-perhost"}, "ranks_per_node"}};
  static const std::vector<Launcher> kLaunchers = {
      {{"torchrun", "torch.distributed.run", "torch.distributed.launch"},
       "",
       {{{"-nproc-per-node"}, "gpus_per_node"}, {{"-nnodes"}, "nodes"}},
       "--nproc_per_node={{gpus_per_node}}",
       true,
       {"-standalone", "-no-python", "-m", "-module", "-run-path", "-use-env", "-use_env"},
       R"(--node_rank="$NODE_RANK" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT")",
       {"-node-rank", "-rdzv-endpoint", "-rdzv-backend", "-master-addr"},
       "node",
       "torchrun starts the processes of its node"},
      {{"accelerate", "accelerate.commands.launch"},
       "launch",
       {{{"-num-processes"}, "gpus"}, {{"-num-machines"}, "nodes"}},
       "--num_processes={{gpus}}",
       true,
       {"-cpu", "-multi-gpu", "-mps", "-tpu", "-quiet", "-q", "-debug", "-no-python", "-m", "-module", "-use-deepspeed",
        "-use-fsdp", "-use-megatron-lm", "-use-xpu", "-ipex", "-same-network", "-enable-cpu-affinity"},
       R"(--machine_rank="$NODE_RANK" --main_process_ip="$MASTER_ADDR" --main_process_port="$MASTER_PORT")",
       {"-machine-rank", "-main-process-ip"},
       "node",
       "accelerate starts the processes of its node"},
      {{"deepspeed"},
       "",
       {{{"-num-gpus"}, "gpus_per_node"}, {{"-num-nodes"}, "nodes"}},
       "--num_gpus={{gpus_per_node}}",
       true,
       {"-no-local-rank", "-no-python", "-module", "-force-multi", "-bind-cores-to-rank", "-no-ssh", "-elastic-training"},
       "",
       {},
       "once",
       "deepspeed starts all processes"},
      {{"mpirun", "mpiexec", "orterun", "mpiexec.hydra"},
       "",
       kMpiCounts,
       "-n {{ranks}}",
       false,
       kMpiValues,
       "",
       {},
       "once",
       "MPI's launcher starts all processes"},
      {{"srun"},
       "",
       {{{"-n", "-ntasks"}, "ranks"}, {{"-ntasks-per-node"}, "ranks_per_node"}, {{"-N", "-nodes"}, "nodes"}},
       "-n {{ranks}}",
       true,
       {"-l",
        "-label",
        "-u",
        "-unbuffered",
        "-K",
        "-kill-on-bad-exit",
        "-v",
        "-Q",
        "-quiet",
        "-exclusive",
        "-overlap",
        "-exact",
        "-pty",
        "-s",
        "-oversubscribe",
        "-E",
        "-preserve-env",
        "-O",
        "-overcommit",
        "-X",
        "-Z",
        "-no-allocate"},
       "",
       {},
       "once",
       "srun starts all processes: in a job of Slurm"},
  };
  return kLaunchers;
}

/// The words of a command line, and what stood between them, so that a shell's text keeps all else.
struct Line {
  std::vector<std::string> words;
  std::vector<std::string> gaps;  // gaps[i] stands before words[i]

  void insert(std::size_t at, std::string_view word) {
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), std::string(word));
    gaps.insert(gaps.begin() + static_cast<std::ptrdiff_t>(at), " ");
  }
  std::string text() const {
    std::string all;
    for (std::size_t i = 0; i < words.size(); ++i) all += gaps[i] + words[i];
    return all;
  }
};

/// Quotes stay in the words.
Line line_of(std::string_view text) {
  Line line;
  std::string gap, word;
  char quote = 0;
  const auto end_word = [&] {
    if (word.empty()) return;
    line.words.push_back(std::exchange(word, ""));
    line.gaps.push_back(std::exchange(gap, ""));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      end_word();
      gap += c;
      continue;
    }
    word += c;
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    }
  }
  end_word();
  return line;
}

bool has(const OptionNames& names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

/// `--nproc_per_node` and `-nproc-per-node` as `-nproc-per-node`.
std::string plain_option(std::string_view word) {
  std::string name(word.substr(0, word.find('=')));
  if (name.starts_with("--")) name.erase(0, 1);
  if (name.size() > 2) std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

const Launcher* launcher_named(std::string_view word) {
  const std::string_view program = word.substr(word.rfind('/') + 1);
  for (const Launcher& launcher : launchers()) {
    if (has(launcher.programs, program)) return &launcher;
  }
  return nullptr;
}

/// Where the launcher's own words end and its options begin.
struct Found {
  const Launcher* launcher = nullptr;
  std::size_t options = 0;
};

/// A launcher that is the program of the line, or of a part of a shell's line.
Found find_launcher(const std::vector<std::string>& words, bool shell) {
  static const OptionNames kBefore = {"exec", "time", "env", "nohup", "numactl", "nice"};
  bool may_start = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_assignment = word.find('=') != std::string::npos && is_identifier(word.substr(0, word.find('=')));
    if (may_start && !is_assignment && !has(kBefore, word)) {
      const bool as_module = word.find("python") != std::string::npos && i + 2 < words.size() && words[i + 1] == "-m";
      const Launcher* launcher = launcher_named(as_module ? words[i + 2] : word);
      std::size_t next = as_module ? i + 3 : i + 1;
      if (launcher != nullptr && !launcher->subcommand.empty() && !as_module) {
        if (next < words.size() && words[next] == launcher->subcommand) {
          ++next;
        } else {
          launcher = nullptr;
        }
      }
      if (launcher != nullptr) return {launcher, next};
      may_start = false;
    }
    static const OptionNames kOperators = {"&&", "||", "|", ";", "&"};
    if (shell && (has(kOperators, word) || word.ends_with(';'))) may_start = true;
  }
  return {};
}

/// The numbers that a launcher is given become placeholders.
class Adapter {
 public:
  Adapter(Line& line, const Found& found) : line_(line), launcher_(*found.launcher), end_(found.options) {}

  void adapt() {
    const std::size_t begin = end_;
    bool has_ranks = false, meets = false;
    while (end_ < line_.words.size() && line_.words[end_].starts_with('-')) {
      const std::string name = plain_option(line_.words[end_]);
      meets = meets || has(launcher_.meeting_names, name);
      const CountOption* const count = count_option(name);
      if (count != nullptr) {
        take_count(*count);
        has_ranks = has_ranks || count->now != "nodes";
      } else {
        const bool listed = has(launcher_.exceptions, name);
        const bool attached = line_.words[end_].find('=') != std::string::npos;
        end_ += !attached && listed != launcher_.values_by_default && end_ + 1 < line_.words.size() ? 2 : 1;
      }
    }
    if (!has_ranks) {
      for (const std::string& word : reversed(split(launcher_.own, ' '))) line_.insert(begin, word);
      end_ += split(launcher_.own, ' ').size();
      note(ranks_placeholder(), "");
    }
    is_meeting_open_ = nodes_ && !launcher_.meeting.empty() && !meets;
  }

  /// Axes for the placeholders, in table order.
  std::vector<StarterAxis> axes() const {
    std::vector<StarterAxis> axes;
    if (nodes_) axes.push_back({"nodes", values_from_1(*nodes_), ""});
    const std::string rest = ranks_ ? *ranks_ : per_node_.value_or("");
    const std::optional<long long> nodes = nodes_ ? Value::from_plain(*nodes_).integer() : std::nullopt;
    const std::optional<long long> ranks = ranks_ ? Value::from_plain(*ranks_).integer() : std::nullopt;
    const bool by_gpus = ranks_placeholder().starts_with("gpus");
    StarterAxis axis{by_gpus ? "gpus_per_node" : "ranks_per_node", values_from_1(per_node_.value_or(rest)), ""};
    if (ranks && nodes && *nodes > 0 && *ranks % *nodes == 0) axis.values = {std::to_string(*ranks / *nodes)};
    if (per_node_ && nodes_) axis.values = {axis.values.back()};
    if (!by_gpus) axis.about = "processes of a node; {{ranks}} is nodes x ranks_per_node";
    axes.push_back(axis);
    return axes;
  }

  /// Where several nodes must find each other, and nothing says how: the line for a shell that knows their variables.
  bool is_meeting_open() const { return is_meeting_open_; }
  std::size_t end() const { return end_; }

 private:
  static std::vector<std::string> reversed(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());
    return words;
  }

  const CountOption* count_option(const std::string& name) const {
    for (const CountOption& count : launcher_.counts) {
      if (has(count.names, name)) return &count;
      // -n4
      const bool is_digit = name.size() > 2 && name.find_first_not_of("0123456789", 2) == std::string::npos;
      if (is_digit && has(count.names, name.substr(0, 2))) return &count;
    }
    return nullptr;
  }

  std::string ranks_placeholder() const {
    const std::string own(launcher_.own);
    const std::size_t begin = own.find("{{") + 2;
    return own.substr(begin, own.find("}}") - begin);
  }

  /// Puts the placeholder in place of the value of the option at `end_`, and steps over both.
  void take_count(const CountOption& count) {
    std::string& word = line_.words[end_];
    const std::size_t equals = word.find('=');
    const std::string filled = fmt::format("{{{{{}}}}}", count.now);
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
      if (!is_kept(count, value)) word = word.substr(0, equals + 1) + filled;
      ++end_;
    } else if (word.size() > 2 && word[1] != '-' && word.find_first_of("0123456789") == 2) {
      value = word.substr(2);
      word = word.substr(0, 2);
      line_.insert(end_ + 1, filled);
      end_ += 2;
    } else if (end_ + 1 < line_.words.size()) {
      value = line_.words[end_ + 1];
      if (!is_kept(count, value)) line_.words[end_ + 1] = filled;
      end_ += 2;
    } else {
      ++end_;
      return;
    }
    if (!is_kept(count, value)) note(std::string(count.now), value);
  }

  /// One node is no axis, and `1:4` is torchrun's own range.
  static bool is_kept(const CountOption& count, const std::string& value) {
    return count.now == "nodes" && (value == "1" || value.find(':') != std::string::npos);
  }

  void note(const std::string& placeholder, std::string value) {
    const std::vector<Placeholder> named = find_placeholders(value);
    if (named.size() == 1 && named.front().name != placeholder) {
      for (std::string& word : line_.words) word = replace_all(word, value, fmt::format("{{{{{}}}}}", placeholder));
    }
    if (!Value::from_plain(value).integer()) value.clear();
    if (placeholder == "nodes") {
      nodes_ = value;
    } else if (placeholder == "ranks" || placeholder == "gpus") {
      ranks_ = value;
    } else {
      per_node_ = value;
    }
  }

  static std::string replace_all(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return text;
  }

  static std::vector<std::string> values_from_1(const std::string& given) {
    return {"1", given.empty() || given == "1" || given == "0" ? "2" : given};
  }

  Line& line_;
  const Launcher& launcher_;
  std::size_t end_;
  // The numbers as they were given; empty for a placeholder, absent where no option names them.
  std::optional<std::string> nodes_, ranks_, per_node_;
  bool is_meeting_open_ = false;
};

/// A word as bash reads it, placeholders bare.
std::string bare_or_quoted(const std::string& word) {
  const bool bare =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=./:,{}") == std::string::npos;
  return bare ? word : shell_quote(word);
}

/// `$NODE_RANK` and others are known to a shell alone: [bash, -c, 'exec torchrun ... "$@"', torchrun, train.py].
std::vector<std::string> through_bash(const std::vector<std::string>& words, std::size_t end, std::string_view meeting) {
  std::string text = "exec";
  for (std::size_t i = 0; i < end; ++i) text += ' ' + bare_or_quoted(words[i]);
  std::vector<std::string> through = {"bash", "-c", text + ' ' + std::string(meeting) + " \"$@\"", words.front()};
  through.insert(through.end(), words.begin() + static_cast<std::ptrdiff_t>(end), words.end());
  return through;
}

/// The names of all placeholders of a command, `{{*name}}` with its asterisk; each once.
std::vector<std::string> placeholder_names(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    for (const Placeholder& placeholder : find_placeholders(word)) {
      const std::string name = (placeholder.spread ? "*" : "") + placeholder.name;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

bool names_gpus_in(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.text = word;
    return names_gpus(node) || word.find("CUDA_VISIBLE_DEVICES") != std::string::npos;
  });
}

/// A program without a launcher is one process, unless a placeholder tells it of gpus or ranks: then these are axes.
void choose_launch(StarterCommand& command, const std::vector<std::string>& names) {
  const auto uses = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  const bool by_ranks = uses("ranks") || uses("ranks_per_node");
  const bool by_gpus = !by_ranks && (uses("gpus") || uses("gpus_per_node") || uses("strategy"));
  const bool has_gpu = !by_ranks && !by_gpus && names_gpus_in(command.words);
  if (uses("nodes")) command.axes.push_back({"nodes", {"1", "2"}, ""});
  if (by_ranks) command.axes.push_back({"ranks_per_node", {"1", "2"}, "processes of a node"});
  if (by_gpus) command.axes.push_back({"gpus_per_node", {"1", "2"}, ""});
  if (has_gpu) command.axes.push_back({"gpus_per_node", {"1"}, "one process that has one gpu"});
  command.launch = by_ranks || by_gpus ? "rank" : uses("nodes") ? "node" : "once";
  const bool is_rank = command.launch == "rank";
  command.why = is_rank
                    ? fmt::format("one process per {}, with RANK, WORLD_SIZE, MASTER_ADDR ...; node = one per node, once = one",
                                  by_ranks ? "rank" : "gpu")
                : uses("nodes") ? "one process per node; rank = one per ranks_per_node or gpus_per_node, once = one"
                                : "one process; rank = one for each of the axis ranks_per_node or gpus_per_node";
}

/// The placeholder that a program takes as its number of threads; empty: none.
std::string thread_placeholder(const std::vector<std::string>& names) {
  static const OptionNames kThreadNames = {"threads",         "nthreads",        "n_threads", "num_threads", "omp_threads",
                                           "omp_num_threads", "OMP_NUM_THREADS", "cores",     "cpus",        "cpus_per_task"};
  const auto found = std::find_if(names.begin(), names.end(), [](const std::string& name) { return has(kThreadNames, name); });
  return found == names.end() ? "" : *found;
}

/// The number in a literal `OMP_NUM_THREADS=8`; empty: none.
std::string literal_threads(const std::vector<std::string>& words) {
  constexpr std::string_view kName = "OMP_NUM_THREADS=";
  for (const std::string& text : words) {
    const std::size_t at = text.find(kName);
    if (at == std::string::npos) continue;
    const std::string_view rest = std::string_view(text).substr(at + kName.size());
    const std::size_t end = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (end > 0 && rest.front() != '0') return std::string(rest.substr(0, end));
  }
  return "";
}

}  // namespace

StarterCommand starter_command(const StarterOptions& options) {
  StarterCommand command;
  command.shell = !options.shell_text.empty();
  Line line = command.shell ? line_of(options.shell_text)
                            : Line{options.command, std::vector<std::string>(options.command.size(), " ")};
  const Found found = find_launcher(line.words, command.shell);
  bool through = false;
  std::size_t end = 0;
  if (found.launcher != nullptr) {
    Adapter adapter(line, found);
    adapter.adapt();
    command.axes = adapter.axes();
    command.launch = found.launcher->launch;
    command.why = found.launcher->why;
    end = adapter.end();
    through = adapter.is_meeting_open() && !command.shell;
    if (adapter.is_meeting_open() && command.shell) line.insert(end, found.launcher->meeting);
  }
  command.words = command.shell ? std::vector{line.text()}
                  : through     ? through_bash(line.words, end, found.launcher->meeting)
                                : line.words;
  const std::vector<std::string> names = placeholder_names(command.words);
  if (found.launcher == nullptr) choose_launch(command, names);
  const std::string threads = thread_placeholder(names);
  command.cpus_per_task = threads.empty() ? literal_threads(command.words) : fmt::format("\"{{{{{}}}}}\"", threads);
  for (const std::string& name : names) {
    const std::vector<std::string>& own = builtin_placeholders();
    if (std::find(own.begin(), own.end(), name) != own.end() || name == "ranks" || name == "ranks_per_node") continue;
    const std::string about = fmt::format("the values that {{{{{}}}}} shall have", name);
    if (name.starts_with('*')) {
      command.axes.push_back({name.substr(1), {"[]", "[-v]"}, about + ": lists of arguments"});
    } else {
      command.axes.push_back(
          {name, name == "strategy" ? std::vector<std::string>{"baseline", "ddp"} : std::vector<std::string>{"1", "2"}, about});
    }
  }
  if (command.axes.empty()) {
    command.axes.push_back({"nodes", {"1"}, "nothing varies yet: add n: [1, 2], and {{n}} to `command`"});
  }
  return command;
}

}  // namespace hpcbench
