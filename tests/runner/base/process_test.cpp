#include "base/process.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "fakes/temporary_folder.hpp"

namespace hpcbench {

namespace {

using Kind = ToolResult::Kind;

ToolCall shell(const std::string& script, double timeout_s = 60) { return {{"bash", "-c", script}, {}, timeout_s}; }

bool exists(int pid) { return ::kill(pid, 0) == 0; }

/// Waits a while for what ends in the background.
bool is_gone(int pid) {
  for (int i = 0; i < 1000 && exists(pid) && identify_process(pid); ++i) ::usleep(5000);
  return !exists(pid) || !identify_process(pid);  // a zombie is gone, too
}

TEST_CASE("a tool's output, errors and exit status are told apart") {
  const ToolResult result = run_tool(shell("echo out; echo err >&2; exit 7"));
  CHECK(result.kind == Kind::exited);
  CHECK(result.status == 7);
  CHECK(result.output == "out\n");
  CHECK(result.errors == "err\n");
  CHECK_FALSE(result.succeeded());
  CHECK(run_tool({{"true"}}).succeeded());
}

TEST_CASE("an exit with 9 and a signal 9 differ") {
  const ToolResult left = run_tool(shell("exit 9"));
  CHECK(left.kind == Kind::exited);
  CHECK(left.status == 9);
  const ToolResult killed = run_tool(shell("kill -KILL $$"));
  CHECK(killed.kind == Kind::killed);
  CHECK(killed.status == 9);
  CHECK(describe(killed) == "killed by signal 9 (Killed)");
}

TEST_CASE("a tool that says that it waits has more time") {
  ToolCall call = shell("echo 'busy, sleeping' >&2; sleep 0.4; echo late", 0.2);
  CHECK(run_tool(call).kind == Kind::timed_out);
  call.waiting_word = "sleeping";
  call.waiting_s = 30;
  CHECK(run_tool(call).output == "late\n");
  call.waiting_word = "another word";
  CHECK(run_tool(call).kind == Kind::timed_out);
  call.waiting_word = "sleeping";
  call.waiting_s = 0.1;
  CHECK(run_tool(call).kind == Kind::timed_out);
}

TEST_CASE("no shell reads the arguments") {
  const ToolResult result = run_tool({{"printf", "%s|", "a b", "$HOME", "*", "", "'\"\n"}});
  CHECK(result.output == "a b|$HOME|*||'\"\n|");
  CHECK(run_tool({{"printf", std::string("a\0b", 3)}}).kind == Kind::not_started);
}

TEST_CASE("a tool that hangs ends when its time is over, and its children with it") {
  const TemporaryFolder folder;
  const double begin_s = monotonic_s();
  const ToolResult result =
      run_tool({{"bash", "-c", "trap '' TERM; sleep 1000 & echo $!; (sleep 1000; true) & echo $!; wait"}, folder / "", 0.5});
  CHECK(result.kind == Kind::timed_out);
  CHECK(monotonic_s() - begin_s < 30);
  const std::vector<std::string> pids = split(result.output, '\n');  // what it said before is kept
  REQUIRE(pids.size() == 3);
  CHECK(is_gone(std::stoi(pids[0])));
  CHECK(is_gone(std::stoi(pids[1])));
}

TEST_CASE("what a tool leaves in the background neither delays us nor dies") {
  const double begin_s = monotonic_s();
  const ToolResult result = run_tool(shell("sleep 1000 & echo $!"));
  CHECK(result.succeeded());
  CHECK(monotonic_s() - begin_s < 30);
  const int pid = std::stoi(result.output);
  CHECK(exists(pid));
  ::kill(pid, SIGKILL);
}

TEST_CASE("large output and errors do not block, and are bounded") {
  const std::string script = "head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2";
  const ToolResult all = run_tool(shell(script));
  CHECK(all.succeeded());
  CHECK(all.output.size() == 3'000'000);
  CHECK(all.errors.size() == 2'000'000);
  ToolCall call = shell(script);
  call.most_bytes = 1000;
  const ToolResult cut = run_tool(call);
  CHECK(cut.kind == Kind::too_long);
  CHECK_FALSE(cut.succeeded());
  CHECK(cut.output.size() == 1000);
  call = shell("while :; do echo more; done");
  call.most_bytes = 100'000;
  CHECK(run_tool(call).kind == Kind::too_long);
}

TEST_CASE("a program that cannot be started is named, with the reason, and leaves no zombie") {
  const ToolResult none = run_tool({{"no-such-program-at-all"}});
  CHECK(none.kind == Kind::not_started);
  CHECK(none.status == ENOENT);
  CHECK(describe(none) == "cannot be started: no-such-program-at-all: No such file or directory");
  const TemporaryFolder folder;
  write_file(folder / "plain", "#!/bin/sh\n", Durability::none);
  const ToolResult plain = run_tool({{folder / "plain"}});
  CHECK(plain.kind == Kind::not_started);
  CHECK(plain.status == EACCES);
  write_file(folder / "broken", "#!/no/such/interpreter\n", Durability::none);
  std::filesystem::permissions(folder / "broken", std::filesystem::perms::owner_all);
  CHECK(describe(run_tool({{folder / "broken"}})).ends_with("/broken: No such file or directory"));
  const ToolResult lost = run_tool({{"true"}, "/no/such/folder"});
  CHECK(describe(lost) == "cannot be started: /no/such/folder: No such file or directory");
  CHECK(run_tool({}).kind == Kind::not_started);
  CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);
  CHECK(errno == ECHILD);
}

TEST_CASE("a name that PATH lacks is not taken from the working folder") {
  const TemporaryFolder folder;
  write_file(folder / "only-here", "#!/bin/sh\n", Durability::none);
  std::filesystem::permissions(folder / "only-here", std::filesystem::perms::owner_all);
  CHECK(run_tool({{"only-here"}, folder / ""}).kind == Kind::not_started);
  CHECK(run_tool({{"./only-here"}, folder / ""}).succeeded());
}

TEST_CASE("a tool inherits three descriptors, whatever ours are") {
  const int leaked = ::open("/dev/null", O_RDONLY);  // without CLOEXEC
  const int high = ::fcntl(leaked, F_DUPFD, 200);
  const ToolResult result = run_tool({{"ls", "/proc/self/fd"}});
  ::close(leaked);
  ::close(high);
  CHECK(result.output == "0\n1\n2\n3\n");  // the last is the folder that ls reads
}

TEST_CASE("a tool is well where our own standard descriptors are closed") {
  const int kept = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
  ::close(STDIN_FILENO);
  const ToolResult result = run_tool(shell("cat; echo out; echo err >&2"));
  ::dup2(kept, STDIN_FILENO);
  ::close(kept);
  CHECK(result.output == "out\n");
  CHECK(result.errors == "err\n");
}

TEST_CASE("a tool reads what it is given, or nothing") {
  CHECK(run_tool({{"cat"}}).output.empty());
  ToolCall call{{"cat"}};
  call.input = std::string(2'000'000, 'x') + "\n";
  CHECK(run_tool(call).output == call.input);
}

TEST_CASE("a tool that does not read its input ends nobody") {
  ::signal(SIGPIPE, SIG_DFL);
  ToolCall call{{"true"}};
  call.input = std::string(2'000'000, 'x');
  CHECK(run_tool(call).succeeded());
}

TEST_CASE("signals that we ignore or block reach a tool") {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t term;
  sigset_t before;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &term, &before);
  const ToolResult term_result = run_tool(shell("kill -TERM $$; echo alive"));
  const ToolResult pipe_result = run_tool(shell("kill -PIPE $$; echo alive"));
  sigset_t now;
  ::sigprocmask(SIG_SETMASK, &before, &now);
  ::signal(SIGPIPE, SIG_DFL);
  CHECK(term_result.status == SIGTERM);
  CHECK(pipe_result.status == SIGPIPE);
  CHECK(::sigismember(&now, SIGTERM) == 1);  // ours are as they were
}

TEST_CASE("an end is learned where SIGCHLD is ignored; where it cannot be, it is no success") {
  ::signal(SIGCHLD, SIG_IGN);
  CHECK(run_tool(shell("exit 3")).status == 3);
  struct sigaction forgetful {};
  forgetful.sa_handler = [](int) {};
  forgetful.sa_flags = SA_NOCLDWAIT;
  ::sigaction(SIGCHLD, &forgetful, nullptr);
  const ToolResult result = run_tool(shell("exit 3"));
  ::signal(SIGCHLD, SIG_DFL);
  CHECK(result.kind == Kind::unknown);
  CHECK_FALSE(result.succeeded());
}

TEST_CASE("a tool sees the environment that it should") {
  ::setenv("HPCBENCH_TEST_A", "ours", 1);
  ::setenv("HPCBENCH_TEST_B", "ours=too", 1);
  ToolCall call = shell("echo $HPCBENCH_TEST_A $HPCBENCH_TEST_B $HPCBENCH_TEST_C");
  call.environment = {{"HPCBENCH_TEST_A", "changed"}, {"HPCBENCH_TEST_C", "new"}};
  CHECK(run_tool(call).output == "changed ours=too new\n");
  call.environment["HPCBENCH_TEST_B"] = std::nullopt;
  CHECK(run_tool(call).output == "changed new\n");
  ::unsetenv("HPCBENCH_TEST_A");
  ::unsetenv("HPCBENCH_TEST_B");
}

TEST_CASE("a tool may write to a file of ours for as long as it likes") {
  const TemporaryFolder folder;
  const Descriptor file(::open((folder / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  ToolCall call = shell("echo out; sleep 0.1; echo err >&2; pwd", std::numeric_limits<double>::infinity());
  call.folder = folder / "";
  call.output_fd = file.get();
  const ToolResult result = run_tool(call);
  CHECK(result.succeeded());
  CHECK(result.output.empty());
  CHECK(read_file(folder / "log").starts_with("out\nerr\n/"));
}

TEST_CASE("a tool has a session of its own, unless it is to share ours") {
  ToolCall call = shell("ps -o sid= -p $$ | tr -d ' \\n'; echo \" $$\"");
  const std::vector<std::string> own = split(trim(run_tool(call).output), ' ');
  REQUIRE(own.size() == 2);
  CHECK(own[0] == own[1]);
  call.own_session = false;
  CHECK(split(run_tool(call).output, ' ')[0] == std::to_string(::getsid(0)));
}

}  // namespace

}  // namespace hpcbench
