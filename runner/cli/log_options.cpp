#include "cli/log_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr std::string_view kVerboseOption = "--verbose";
constexpr std::string_view kQuietOption = "--quiet";
constexpr std::string_view kLevelOption = "--log-level";

void choose_level(const std::string& name) {
  const std::optional<LogLevel> level = parse_log_level(name);
  const std::vector<std::string> names = log_level_names();
  if (!level) {
    throw InputError(fmt::format("error: --log-level: `{}` is no level{}; there are: {}", name, did_you_mean(name, names),
                                 join(names, ", ")));
  }
  set_log_level(*level);
}

}  // namespace

std::vector<std::string> log_level_names() { return {"debug", "info", "warning", "error", "off"}; }

std::vector<std::string> log_option_words() {
  return {std::string(kVerboseOption), std::string(kQuietOption), std::string(kLevelOption)};
}

int take_log_options(int argc, char** argv) {
  char** const end = std::find(argv, argv + argc, std::string_view("--"));
  char** kept = argv;
  for (char** place = argv; place != end; ++place) {
    const std::string_view word = *place;
    if (word == "-v" || word == kVerboseOption) {
      print_log(true);
    } else if (word == "-q" || word == kQuietOption) {
      be_quiet();
    } else if (word == kLevelOption) {
      if (place + 1 == end) throw InputError("error: --log-level needs a level; read `hpcbench --help`");
      choose_level(*++place);
    } else if (word.starts_with(kLevelOption) && word[kLevelOption.size()] == '=') {
      choose_level(std::string(word.substr(kLevelOption.size() + 1)));
    } else {
      *kept++ = *place;
    }
  }
  kept = std::copy(end, argv + argc, kept);
  return static_cast<int>(kept - argv);
}

}  // namespace hpcbench
