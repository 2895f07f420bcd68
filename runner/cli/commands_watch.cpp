#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/executor_kind.hpp"
#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/study_options.hpp"
#include "cli/watch_view.hpp"
#include "study/index.hpp"
#include "study/live_status.hpp"
#include "submit/experiment_lock.hpp"

namespace hpcbench {

namespace {

constexpr double kLongestSlurmInterval = 60;  // seconds between looks: as `run` has it
constexpr double kLongestLocalInterval = 2;   // where a look asks nobody but this machine
constexpr double kTickInterval = 1;           // seconds between redraws on a terminal: times go on between looks

void wake_up(int /*signal*/) {}

/// The whole screen of a terminal, and what was on it before when it is destroyed.
class Screen {
 public:
  Screen() {
    struct sigaction action {};
    action.sa_handler = wake_up;  // no SA_RESTART: a new size ends the wait for the next redraw
    ::sigaction(SIGWINCH, &action, nullptr);
    put("\033[?1049h\033[?25l\033[?7l");  // another screen, no cursor, no wrapping
  }
  ~Screen() { put("\033[?7h\033[?25h\033[?1049l"); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  static void measure(WatchScene& scene) {
    const TerminalSize size = stdout_size();
    if (size.columns == 0 || size.rows == 0) return;
    scene.columns = size.columns;
    scene.rows = size.rows;
  }

  /// In place: each line is overwritten, and what is left of an older picture is wiped. The last line of the terminal stays
  /// free, so nothing scrolls.
  static void draw(const std::vector<std::string>& lines) {
    std::string text = "\033[H";
    for (const std::string& line : lines) text += line + "\033[K\r\n";
    put(text + "\033[J");
  }

 private:
  static void put(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
};

/// What the index has, in memory: watching writes nothing.
Store copy_index(const Study& study) {
  Store copy = Store::open(":memory:");
  if (const std::optional<Store> index = Store::open_readonly(study.database())) {
    copy.put(index->counting_attempts(study.experiment.name, false));
    copy.put(index->set_aside_attempts(study.experiment.name, false));
  }
  return copy;
}

class Watch {
 public:
  Watch(const Study& study, std::optional<double> interval_s)
      : study_(study), interval_s_(interval_s), store_(copy_index(study)), last_change_s_(system_clock().monotonic_s()) {}

  int run() {
    {
      const std::unique_ptr<Screen> screen = stdout_is_terminal() ? std::make_unique<Screen>() : nullptr;
      bool goes_on = true;
      while (goes_on && interrupted() == 0) {
        if (system_clock().monotonic_s() >= next_look_s_) goes_on = look(screen == nullptr);
        if (screen) redraw();
        if (!goes_on || interrupted() != 0) break;
        const double left_s = next_look_s_ - system_clock().monotonic_s();
        system_clock().sleep(screen ? std::min(left_s, kTickInterval) : left_s);
      }
    }
    return conclude();
  }

 private:
  /// False if nothing is left to wait for.
  bool look(bool in_lines) {
    const double begin_s = system_clock().monotonic_s();
    std::optional<std::string> owner = experiment_owner(study_.results);
    refresh_copy(store_, study_);
    std::string problem;
    StatusView view = live_status(study_, store_, tools_, std::move(owner), problem);
    const std::vector<std::string> changes = watch_changes(view_, view, system_clock().unix_s());
    if (!changes.empty()) last_change_s_ = begin_s;
    if (in_lines) {
      for (const std::string& line : changes) print_data(line + "\n");
      std::fflush(stdout);
      if (!problem.empty() && problem != scene_.problem) say(problem);
    }
    view_ = std::move(view);
    scene_.problem = problem;
    looked_s_ = system_clock().monotonic_s();
    const double longest_s =
        !executor_kind(study_.experiment.executor).runs_here ? kLongestSlurmInterval : kLongestLocalInterval;
    next_look_s_ = looked_s_ + interval_s_.value_or(watch_interval(begin_s - last_change_s_, looked_s_ - begin_s, longest_s));
    return is_worth_watching(*view_);
  }

  void redraw() {
    Screen::measure(scene_);
    scene_.now_unix_s = system_clock().unix_s();
    scene_.looked_s_ago = system_clock().monotonic_s() - looked_s_;
    Screen::draw(watch_screen(*view_, scene_));
  }

  int conclude() const {
    if (!view_) return 128 + interrupted();
    print_data(headline(*view_) + "\n");
    if (interrupted() != 0) {
      say(fmt::format("no longer watching; everything goes on as it was. `{}` looks again, `{}` ends jobs.",
                      study_.command("watch"), study_.command("cancel")));
      return 128 + interrupted();
    }
    const long long ended = view_->counts.ended();
    say(ended + view_->set_aside == static_cast<long long>(view_->runs.size())
            ? "every run has an outcome. Next: " + study_.command("report") + " --format markdown"
            : "nothing runs, and " + owner_text(*view_));
    return ended > view_->counts.of(State::succeeded) ? 1 : 0;
  }

  const Study& study_;
  std::optional<double> interval_s_;
  Store store_;
  ProcessToolRunner tools_;
  std::optional<StatusView> view_;
  WatchScene scene_;
  double last_change_s_;
  double looked_s_ = 0;
  double next_look_s_ = 0;
};

}  // namespace

void add_watch(commandline::Command& command) {
  const auto options = std::make_shared<StudyOptions>();
  const auto interval_s = std::make_shared<double>(0);
  add_study_options(command, *options, FileArgument::optional);
  command
      .add_option("--interval", *interval_s,
                  "seconds between polls, 0.2 to 3600, instead of 1 to 60 by how long nothing has changed")
      .value_name("S")
      .between(0.2, 3600.0);
  command.action([=] {
    const Study study = load_study(*options);
    note_without_results(study);
    catch_interrupts();
    return Watch(study, *interval_s > 0 ? std::optional(*interval_s) : std::nullopt).run();
  });
}

}  // namespace hpcbench
