#include "spec/starter/command_starter.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "base/value.hpp"
#include "spec/fields.hpp"
#include "spec/names_gpus.hpp"
#include "spec/placeholders.hpp"
#include "spec/starter/launchers.hpp"

namespace hpcbench {

namespace {

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

/// The numbers that a launcher is given become placeholders, in a copy of the line.
class Adapter {
 public:
  Adapter(Line line, const FoundLauncher& found) : line_(std::move(line)), launcher_(*found.launcher), end_(found.options) {
    const std::size_t begin = end_;
    bool meets = false;
    while (end_ < line_.words.size() && line_.words[end_].starts_with('-')) {
      const std::string name = plain_option(line_.words[end_]);
      meets = meets || has_option(launcher_.meeting_names, name);
      take_option(name);
    }
    if (!has_ranks_) {
      for (const std::string& word : reversed(split(launcher_.own, ' '))) line_.insert(begin, word);
      end_ += split(launcher_.own, ' ').size();
      note(ranks_placeholder(), "");
    }
    is_meeting_open_ = nodes_ && !launcher_.meeting.empty() && !meets;
  }

  const Line& line() const { return line_; }
  bool by_gpus() const { return ranks_placeholder().starts_with("gpus"); }
  /// The numbers that the options have: absent where no option has one.
  std::optional<long long> nodes() const { return number(nodes_); }
  std::optional<long long> ranks() const { return number(ranks_); }
  std::optional<long long> ranks_per_node() const { return number(per_node_); }
  /// The cores of a process, as the option has them; empty: no option sets them.
  const std::string& cpus() const { return cpus_; }

  /// Why `nodes` x processes of a node cannot stand for the numbers of the options; empty: they can.
  std::string misfit() const {
    if (!fixed_.empty()) return fixed_;
    const std::optional<long long> parts = nodes() ? nodes() : ranks_per_node();
    const bool is_even = !ranks() || !parts || *parts <= 0 || *ranks() % *parts == 0;
    return is_even || (!nodes() && *ranks() < *parts) ? "" : fmt::format("{} processes do not fill nodes evenly", *ranks());
  }

  /// Axes for the placeholders, in table order.
  std::vector<StarterAxis> axes() const {
    std::vector<StarterAxis> axes;
    StarterAxis per_node{by_gpus() ? "gpus_per_node" : "ranks_per_node", {}, ""};
    const std::string rest = ranks_ ? *ranks_ : per_node_.value_or("");
    std::optional<std::string> nodes_of_all = nodes_;
    if (!nodes_ && ranks() && ranks_per_node() && *ranks_per_node() > 0 && *ranks() > *ranks_per_node())
      nodes_of_all = std::to_string(*ranks() / *ranks_per_node());
    if (nodes_of_all) axes.push_back({"nodes", values_from_1(*nodes_of_all), ""});
    const bool is_one_node = ranks() && ranks_per_node() && *ranks() < *ranks_per_node();
    per_node.values = values_from_1(is_one_node ? *ranks_ : per_node_.value_or(rest));
    if (ranks() && nodes() && *nodes() > 0) per_node.values = {std::to_string(*ranks() / *nodes())};
    if (per_node_ && nodes_of_all) per_node.values = {per_node.values.back()};
    if (!by_gpus()) per_node.about = "processes of a node; {{ranks}} is nodes x ranks_per_node";
    const std::string& made = per_node.values.back();
    if (nodes() && ranks() && per_node_ && made != *per_node_)
      per_node.about = fmt::format("{} processes on {} nodes, so {} of a node, not {}", *ranks(), *nodes(), made, *per_node_);
    axes.push_back(per_node);
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

  static std::optional<long long> number(const std::optional<std::string>& text) {
    return text ? Value::from_plain(*text).integer() : std::nullopt;
  }

  /// The value of the option at `end_`: attached (`-c4`, `--x=4`), or the next word. Empty: it has none.
  std::string option_value() const {
    const std::string& word = line_.words[end_];
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) return word.substr(equals + 1);
    if (is_short_with_digits(word)) return word.substr(2);
    return end_ + 1 < line_.words.size() ? line_.words[end_ + 1] : "";
  }
  static bool is_short_with_digits(const std::string& word) {
    return word.size() > 2 && word[1] != '-' && word.find_first_not_of("0123456789", 2) == std::string::npos;
  }

  /// Steps over the option at `end_` and its value.
  void take_option(const std::string& name) {
    static const OptionNames kTwoValues = {"-mca", "-gmca", "-pmca", "-genv", "-env"};
    static const OptionNames kPrograms = {"-multi-prog", "-app", "-configfile"};
    const CountOption* const count = count_option(name);
    if (count != nullptr) {
      take_count(*count);
      has_ranks_ = has_ranks_ || count->now != "nodes";
      return;
    }
    const bool is_digits = is_short_with_digits(line_.words[end_]);
    if (has_option(launcher_.cpus, is_digits ? name.substr(0, 2) : name)) cpus_ = option_value();
    if (has_option(kPrograms, name)) fixed_ = "a file names the programs";
    if (name == "-npersocket") fix_without_ranks();
    if (name == "-map-by") take_mapping();
    const bool listed = has_option(launcher_.exceptions, name);
    const bool attached = is_digits || line_.words[end_].find('=') != std::string::npos;
    const bool two = !launcher_.values_by_default && has_option(kTwoValues, name);
    end_ = std::min(end_ + (two ? 3 : !attached && listed != launcher_.values_by_default ? 2 : 1), line_.words.size());
  }

  /// `ppr:4:node` starts 4 processes on each node, `PE=2` gives 2 cores to each.
  void take_mapping() {
    // `--map-by=ppr:2:node:PE=4` has a second `=`.
    std::string& word = line_.words[end_].find('=') != std::string::npos ? line_.words[end_]
                        : end_ + 1 < line_.words.size()                  ? line_.words[end_ + 1]
                                                                         : line_.words[end_];
    std::vector<std::string> parts = split(option_value(), ':');
    const std::string before = word.substr(0, word.size() - option_value().size());
    for (const std::string& part : parts) {
      if (part.starts_with("PE=") || part.starts_with("pe=")) cpus_ = part.substr(3);
    }
    if (parts.size() < 3 || (parts[0] != "ppr" && parts[0] != "PPR")) return;
    if (parts[2] != "node" && parts[2] != "NODE") return fix_without_ranks();
    const std::string value = std::exchange(parts[1], "{{ranks_per_node}}");
    word = before + join(parts, ":");
    note("ranks_per_node", value);
    has_ranks_ = true;
  }

  /// The launcher counts sockets or the like, unless a number of processes follows or precedes.
  void fix_without_ranks() {
    const auto is_count = [&](const std::string& word) {
      const CountOption* const count = count_option(plain_option(word));
      return word.starts_with('-') && count != nullptr && count->now == "ranks";
    };
    if (!ranks_ && std::none_of(line_.words.begin() + static_cast<std::ptrdiff_t>(end_), line_.words.end(), is_count))
      fixed_ = "the launcher starts processes per socket, core or the like";
  }

  const CountOption* count_option(const std::string& name) const {
    for (const CountOption& count : launcher_.counts) {
      if (has_option(count.names, name)) return &count;
      // -n4
      const bool is_digit = name.size() > 2 && name.find_first_not_of("0123456789", 2) == std::string::npos;
      if (is_digit && has_option(count.names, name.substr(0, 2))) return &count;
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

  Line line_;
  const Launcher& launcher_;
  std::size_t end_;
  // The numbers as they were given; empty for a placeholder, absent where no option names them.
  std::optional<std::string> nodes_, ranks_, per_node_;
  std::string cpus_, fixed_;
  bool has_ranks_ = false, is_meeting_open_ = false;
};

/// A command line whose numbers stay as they are, and what they are known to be.
struct FixedLine {
  std::string why;
  std::vector<StarterAxis> axes;
};

std::size_t end_of_part(const std::vector<std::string>& words, bool shell, std::size_t from) {
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(std::min(from, words.size()));
  return static_cast<std::size_t>(
      std::find_if(begin, words.end(), [&](const std::string& word) { return shell && is_shell_operator(word); }) -
      words.begin());
}

/// `mpirun -n 4 ./a : -n 2 ./b` starts several programs: 6 processes where each has its number.
std::optional<FixedLine> several_programs(const Line& line, const FoundLauncher& found, std::size_t end) {
  std::vector<std::string> counts;
  long long sum = 0;
  bool is_known = true;
  for (std::size_t at = found.options; at < end; ++at) {
    const Adapter part(line, {found.launcher, at});
    const std::optional<long long> ranks = part.ranks();
    is_known = is_known && ranks && !part.ranks_per_node();
    sum += ranks.value_or(0);
    counts.push_back(std::to_string(ranks.value_or(0)));
    while (at < end && line.words[at] != ":") ++at;
  }
  if (counts.size() < 2) return std::nullopt;
  FixedLine fixed{"the launcher starts several programs; their numbers stay as they are", {}};
  if (is_known) fixed.axes.push_back({"ranks_per_node", {std::to_string(sum)}, join(counts, " + ") + " processes"});
  return fixed;
}

/// The launcher that a launcher starts (`srun torchrun`), also in a text for a shell.
FoundLauncher inner_launcher(const Line& line, std::size_t begin, std::size_t end) {
  const std::vector<std::string> words(line.words.begin(), line.words.begin() + static_cast<std::ptrdiff_t>(end));
  const FoundLauncher found = find_launcher(words, false, begin);
  if (found.launcher != nullptr) return found;
  for (std::size_t i = begin; i < end; ++i) {
    const std::string& word = words[i];
    if (word.find(' ') == std::string::npos) continue;
    const bool is_quoted = word.front() == '"' || word.front() == '\'';
    const FoundLauncher in_text = find_launcher(line_of(std::string_view(word).substr(is_quoted ? 1 : 0)).words, true);
    if (in_text.launcher != nullptr) return {in_text.launcher, line.words.size()};
  }
  return {};
}

std::optional<FixedLine> fixed_line(const Line& line, const FoundLauncher& found, const Adapter& adapter, bool shell) {
  const std::size_t end = end_of_part(line.words, shell, found.options);
  std::optional<FixedLine> several = several_programs(line, found, end);
  if (several) return several;
  const std::size_t inserted = adapter.line().words.size() - line.words.size();
  const FoundLauncher inner = inner_launcher(adapter.line(), adapter.end(), end + inserted);
  const std::string misfit = adapter.misfit();
  if (misfit.empty() && inner.launcher == nullptr) return std::nullopt;
  FixedLine fixed{misfit + "; the numbers of the command stay as they are", {}};
  std::optional<long long> nodes_of_all = adapter.nodes();
  const std::optional<long long> per_node = adapter.ranks_per_node();
  if (!nodes_of_all && adapter.ranks() && per_node && *per_node > 0)
    nodes_of_all = (*adapter.ranks() + *per_node - 1) / *per_node;
  if (nodes_of_all) fixed.axes.push_back({"nodes", {std::to_string(*nodes_of_all)}, ""});
  if (inner.launcher == nullptr) return fixed;
  fixed.why = fmt::format("{} starts {}; their numbers stay as they are", found.launcher->programs.front(),
                          inner.launcher->programs.front());
  const Adapter of_inner(adapter.line(), inner);
  const std::optional<long long> all = of_inner.ranks();
  const long long nodes = nodes_of_all.value_or(1);
  const bool is_even = all && nodes > 0 && *all % nodes == 0;
  const std::optional<long long> gpus = is_even ? std::optional(*all / nodes) : of_inner.ranks_per_node();
  if (of_inner.by_gpus() && gpus) fixed.axes.push_back({"gpus_per_node", {std::to_string(*gpus)}, ""});
  return fixed;
}

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

/// The number of devices of a `CUDA_VISIBLE_DEVICES=0,1` in the command; absent where it names none, or by a variable.
std::optional<std::size_t> visible_gpus(const std::vector<std::string>& words) {
  static const RE2 kVisible(R"re((?:CUDA|ROCR|HIP)_VISIBLE_DEVICES=(?:"([^"]*)"|'([^']*)'|([^\s;&|'"]*)))re");
  for (const std::string& word : words) {
    std::string quoted, single, bare;
    if (!RE2::PartialMatch(word, kVisible, &quoted, &single, &bare)) continue;
    const std::string value = quoted + single + bare;
    if (value.find_first_of("${") != std::string::npos) return std::nullopt;
    return value.empty() || value == "-1" ? 0 : split(value, ',').size();
  }
  return std::nullopt;
}

bool names_gpus_in(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.text = word;
    return names_gpus(node) || word.find("CUDA_VISIBLE_DEVICES") != std::string::npos;
  });
}

StarterAxis gpus_of_process(std::size_t gpus, std::string_view process) {
  return {"gpus_per_node",
          {std::to_string(gpus)},
          gpus == 1 ? fmt::format("{} that has one gpu", process) : fmt::format("{} that has {} gpus", process, gpus)};
}

/// A program without a launcher is one process, unless a placeholder tells it of gpus or ranks: then these are axes.
void choose_launch(StarterCommand& command, const std::vector<std::string>& names) {
  const auto uses = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  const bool by_ranks = uses("ranks") || uses("ranks_per_node");
  const bool by_gpus = !by_ranks && (uses("gpus") || uses("gpus_per_node") || uses("strategy"));
  const std::size_t gpus = visible_gpus(command.words).value_or(names_gpus_in(command.words) ? 1 : 0);
  if (uses("nodes")) command.axes.push_back({"nodes", {"1", "2"}, ""});
  if (by_ranks) command.axes.push_back({"ranks_per_node", {"1", "2"}, "processes of a node"});
  if (by_gpus) command.axes.push_back({"gpus_per_node", {"1", "2"}, ""});
  if (!by_gpus && gpus > 0) command.axes.push_back(gpus_of_process(gpus, by_ranks ? "a node" : "one process"));
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
  const auto found =
      std::find_if(names.begin(), names.end(), [](const std::string& name) { return has_option(kThreadNames, name); });
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

/// As YAML has them: a number, or a placeholder. Empty where a shell's variable has them.
std::string cpus_as_yaml(const std::string& given) {
  const std::vector<Placeholder> named = find_placeholders(given);
  if (named.size() == 1 && given == fmt::format("{{{{{}}}}}", named.front().name)) return json_quote(given);
  const std::optional<long long> number = Value::from_plain(given).integer();
  return number && *number > 0 ? std::to_string(*number) : "";
}

/// A command that a launcher starts. Returns the cores of a process that its options set; empty: none.
std::string adapt(StarterCommand& command, const Line& line, const FoundLauncher& found) {
  const Adapter adapter(line, found);
  const std::optional<FixedLine> fixed = fixed_line(line, found, adapter, command.shell);
  if (fixed) {
    command.launch = "once";
    command.why = fixed->why;
    command.axes = fixed->axes;
    return cpus_as_yaml(adapter.cpus());
  }
  command.axes = adapter.axes();
  command.launch = found.launcher->launch;
  command.why = found.launcher->why;
  Line adapted = adapter.line();
  const bool through = adapter.is_meeting_open() && !command.shell;
  if (adapter.is_meeting_open() && command.shell) adapted.insert(adapter.end(), found.launcher->meeting);
  command.words = command.shell ? std::vector{adapted.text()}
                  : through     ? through_bash(adapted.words, adapter.end(), found.launcher->meeting)
                                : adapted.words;
  const std::size_t gpus = visible_gpus(line.words).value_or(0);
  if (!adapter.by_gpus() && gpus > 0) command.axes.push_back(gpus_of_process(gpus, "a node"));
  return cpus_as_yaml(adapter.cpus());
}

}  // namespace

StarterCommand starter_command(const StarterOptions& options) {
  StarterCommand command;
  command.shell = !options.shell_text.empty();
  Line line = command.shell ? line_of(options.shell_text)
                            : Line{options.command, std::vector<std::string>(options.command.size(), " ")};
  const FoundLauncher found = find_launcher(line.words, command.shell);
  std::string cpus;
  command.words = command.shell ? std::vector{line.text()} : line.words;
  if (found.launcher != nullptr) cpus = adapt(command, line, found);
  const std::vector<std::string> names = placeholder_names(command.words);
  if (found.launcher == nullptr) choose_launch(command, names);
  command.threads = thread_placeholder(names);
  command.cpus_per_task = !cpus.empty()              ? cpus
                          : !command.threads.empty() ? fmt::format("\"{{{{{}}}}}\"", command.threads)
                                                     : literal_threads(command.words);
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
