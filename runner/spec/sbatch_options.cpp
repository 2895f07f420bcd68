#include "spec/sbatch_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "spec/fields.hpp"
#include "spec/slurm_words.hpp"

namespace hpcbench {

namespace {

using namespace slurm_words;

constexpr const char* kKnownBy = "hpcbench finds its jobs by it";
constexpr const char* kAnswer = "hpcbench reads what sbatch answers";
constexpr const char* kOnce = "a job that Slurm starts again is not the attempt that was submitted";
constexpr const char* kScript = "it changes what the job's script is or where it runs";

constexpr const char* kGpus =
    "say it as an axis: matrix: {gpus_per_node: [1, 2]}; `gres_type` of a site says which kind of gpu";
constexpr const char* kRetries = "remove it: `retries` says what is started again, as a new attempt";

constexpr std::array kSbatchOptions = {
    OwnOption{"account", 'A', kWritten, kAccount},
    OwnOption{"array", 'a', kKnownBy,
              "remove it: runs become one array by themselves; `limits: {max_running: N}` of a site limits it"},
    OwnOption{"chdir", 'D', kScript, kWorkdir},
    OwnOption{"clusters", 'M', kAnswer, kCluster},
    OwnOption{"constraint", 'C', kWritten, kConstraint},
    OwnOption{"container", 0, kScript, "say it as `container: IMAGE`"},
    OwnOption{"container-id", 0, kScript, "say it as `container: IMAGE`"},
    OwnOption{"cpus-per-gpu", 0, kShape, kCpus},
    OwnOption{"cpus-per-task", 'c', kWritten, kCpus},
    OwnOption{"error", 'e', "hpcbench says where output goes", kOutput},
    OwnOption{"exclusive", 0, kWritten, kExclusive},
    OwnOption{"gid", 0, kKnownBy, kRemove},
    OwnOption{"gpus", 'G', kShape, kGpus},
    OwnOption{"gpus-per-node", 0, kWritten, kGpus},
    OwnOption{"gpus-per-socket", 0, kShape, kGpus},
    OwnOption{"gpus-per-task", 0, kShape, kGpus},
    OwnOption{"gres", 0, kWritten, kGres},
    OwnOption{"help", 'h', kAnswer, kRemove},
    OwnOption{"job-name", 'J', kKnownBy, kJobName},
    OwnOption{"mem", 0, kWritten, "say it as `resources: {mem: 32G}`"},
    OwnOption{"no-kill", 'k', kLosesNode, kRetries},
    OwnOption{"no-requeue", 0, kWritten, "remove it: jobs never go back into the queue"},
    OwnOption{"nodes", 'N', kWritten, kNodes},
    OwnOption{"ntasks", 'n', kShape, kTasks},
    OwnOption{"ntasks-per-gpu", 0, kShape, kTasks},
    OwnOption{"ntasks-per-node", 0, kWritten, kTasks},
    OwnOption{"open-mode", 0, kWritten, kOutput},
    OwnOption{"output", 'o', kWritten, kOutput},
    OwnOption{"parsable", 0, kWritten, kRemove},
    OwnOption{"partition", 'p', kWritten, kPartition},
    OwnOption{"qos", 'q', kWritten, kQos},
    OwnOption{"quiet", 'Q', kAnswer, kRemove},
    OwnOption{"requeue", 0, kOnce, kRetries},
    OwnOption{"reservation", 0, kWritten, kReservation},
    OwnOption{"signal", 0, kWritten, "remove it: with `resources.time` the job hears of its limit before it is reached"},
    OwnOption{"test-only", 0, kAnswer, kDoctor},
    OwnOption{"time", 't', kWritten, kTime},
    OwnOption{"time-min", 0, kShape, kTime},
    OwnOption{"tres-per-task", 0, kShape, kGpus},
    OwnOption{"uid", 0, kKnownBy, kRemove},
    OwnOption{"usage", 0, kAnswer, kRemove},
    OwnOption{"version", 'V', kAnswer, kRemove},
    OwnOption{"wait", 'W', kAnswer, "remove it: `hpcbench run` waits"},
    OwnOption{"wrap", 0, kScript, "say it as `command` with `shell: true`"},
};

/// The first of our options that `name` may mean: such tools take prefixes, and which of them are clear depends on its version.
const OwnOption* own_long_option(const OptionRules& rules, std::string_view name) {
  const OwnOption* found = nullptr;
  for (const OwnOption& option : rules.own) {
    if (option.name == name) return &option;
    if (found == nullptr && option.name.starts_with(name)) found = &option;
  }
  return found;
}

const OwnOption* own_short_option(const OptionRules& rules, char letter) {
  const auto found =
      std::find_if(rules.own.begin(), rules.own.end(), [&](const OwnOption& option) { return option.letter == letter; });
  return found == rules.own.end() ? nullptr : &*found;
}

/// Of letters behind one dash: those without a value may stand before another one.
const OwnOption* own_option_of_letters(const OptionRules& rules, std::string_view letters) {
  for (const char letter : letters) {
    if (const OwnOption* own = own_short_option(rules, letter)) return own;
    if (rules.letters_without_value.find(letter) == std::string_view::npos) return nullptr;  // the rest is its value
  }
  return nullptr;
}

/// What stands before `=` or a blank.
std::string_view option_word(std::string_view option) { return option.substr(0, option.find_first_of("= \t\n")); }

const OwnOption* own_option(const OptionRules& rules, std::string_view option) {
  const std::string_view word = option_word(option);
  if (word.starts_with("--")) return word.size() > 2 ? own_long_option(rules, word.substr(2)) : nullptr;
  return own_option_of_letters(rules, word.substr(1));
}

bool is_option(std::string_view text) { return text.starts_with('-') && text.find_first_not_of('-') != std::string_view::npos; }

/// An option without a value of its own: the next entry may have been meant as one.
bool takes_value_after(std::string_view text) { return is_option(text) && option_word(text).size() == text.size(); }

std::string write_as_one(const std::string& option, const std::string& value) {
  return fmt::format("each entry is a whole option: write \"{}{}{}\"", option, option.starts_with("--") ? "=" : "", value);
}

void refuse_own_option(const SourceLocation& location, const std::string& option, const OwnOption& own, const std::string& what,
                       Diagnostics& diagnostics) {
  const std::string full = fmt::format("--{}", own.name);
  const bool same = option_word(option) == full;
  diagnostics.add(
      location,
      fmt::format("{}{} cannot stand in `{}`: {}", cite(option), same ? "" : ", which is `" + full + "`,", what, own.why),
      own.instead);
}

}  // namespace

void check_tool_options(const OptionRules& rules, const YamlNode& node, const std::vector<std::string>& options,
                        const std::string& what, Diagnostics& diagnostics) {
  bool refused = false;  // the option before this entry, whose value this entry may be
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& option = options[i];
    const SourceLocation& location = node.items[i].location;
    if (!option.starts_with('-') && i > 0 && takes_value_after(options[i - 1])) {
      if (refused) continue;
      diagnostics.add(location, fmt::format("{} is no option of {}", cite(option), rules.tool),
                      write_as_one(options[i - 1], option));
    } else if (!is_option(option)) {
      diagnostics.add(location, fmt::format("{} is no option of {}", cite(option), rules.tool),
                      fmt::format("options start with -: \"{}\"", rules.example));
    } else if (const OwnOption* own = own_option(rules, option)) {
      refuse_own_option(location, option, *own, what, diagnostics);
      refused = true;
      continue;
    } else if (const std::size_t end = option_word(option).size(); end < option.size() && option[end] != '=') {
      diagnostics.add(location, fmt::format("{} holds a blank: {} would read it as one word", cite(option), rules.tool),
                      write_as_one(option.substr(0, end), std::string(trim(option.substr(end)))));
    }
    refused = false;
  }
}

void check_sbatch_options(const YamlNode& node, const std::vector<std::string>& options, const std::string& what,
                          Diagnostics& diagnostics) {
  static const OptionRules kRules = {
      .tool = "sbatch", .example = "--mail-type=END", .letters_without_value = "hHIkOQsuvVW", .own = kSbatchOptions};
  check_tool_options(kRules, node, options, what, diagnostics);
}

}  // namespace hpcbench
