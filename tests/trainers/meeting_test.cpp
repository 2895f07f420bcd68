#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "fakes/temporary_folder.hpp"
#include "trainers/ranks.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

TEST_CASE("ranks that cannot meet end in time, and print what to do") {
  const TemporaryFolder folder;
  // Accepts connections, and never answers: another program's port.
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(listen(listener, 5) == 0);
  REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const int taken = ntohs(address.sin_port);
  const auto complaint = [&](int rank, const char* host, int port) {
    auto environment = rank_environment(rank, 2, port);
    environment["MASTER_ADDR"] = host;
    Process process(folder.path(), "alone", train_command({"--strategy", "ddp", "--timeout", "1"}), environment);
    const Ended ended = process.wait(60);
    CHECK(ended.exit_code == 1);
    CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 1);
    return ended.err;
  };
  const std::string place = "127.0.0.1:" + std::to_string(taken);
  CHECK(complaint(0, "127.0.0.1", taken).find("has the port " + std::to_string(taken) + ": set MASTER_PORT to one that is") !=
        std::string::npos);
  CHECK(complaint(1, "127.0.0.1", taken).find("rank 0 does not answer at " + place + ": MASTER_ADDR") != std::string::npos);
  CHECK(complaint(1, "no-such-host.invalid", taken).find("MASTER_ADDR is `no-such-host.invalid`, which is no host here") !=
        std::string::npos);
  close(listener);
  CHECK(complaint(1, "127.0.0.1", taken).find("rank 0 does not answer at " + place + ": MASTER_ADDR") != std::string::npos);
}

TEST_CASE("a duplicate rank, or one of another world size, is refused; the others continue") {
  const TemporaryFolder folder;
  const int port = free_port();
  const auto start = [&](const char* name, const std::map<std::string, std::string>& environment) {
    return Process(folder.path(), name, train_command({"--strategy", "ddp", "--max-steps", "2"}), environment);
  };
  Process first = start("first", rank_environment(0, 3, port));
  Process other = start("other", rank_environment(1, 3, port));
  auto wrong = rank_environment(2, 4, port);
  const Ended of_four = start("wrong", wrong).wait();
  CHECK(of_four.exit_code == 2);
  CHECK(of_four.err.find("WORLD_SIZE is 4 for rank 2, but 3 for others at 127.0.0.1:") != std::string::npos);
  Process twin = start("twin", rank_environment(1, 3, port));
  const auto is_refused = [&](const std::string& name) {
    return slurp(folder.path() / (name + ".err")).find("is there already") != std::string::npos;
  };
  // The last rank starts after one of the two was refused: otherwise the training would begin without the later one.
  for (int tenths = 0; tenths < 2000 && !is_refused("other") && !is_refused("twin"); ++tenths)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  Process last = start("last", rank_environment(2, 3, port));
  CHECK(first.wait().exit_code == 0);
  CHECK(last.wait().exit_code == 0);
  const std::array<Ended, 2> twins = {other.wait(), twin.wait()};
  const Ended& refused = twins[0].exit_code == 0 ? twins[1] : twins[0];
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("rank 1 is there already at 127.0.0.1:") != std::string::npos);
}

TEST_CASE("ranks of different settings are refused, each by name") {
  const TemporaryFolder folder;
  const int port = free_port();
  const auto start = [&](const char* name, int rank, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"--strategy", "ddp", "--max-steps", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Process(folder.path(), name, train_command(arguments), rank_environment(rank, 2, port));
  };
  Process first = start("first", 0, {"--lr", "0.25", "--timeout", "60"});
  Process second = start("second", 1, {"--lr", "0.5", "--clip", "1", "--timeout", "50"});
  for (Process* process : {&first, &second}) {
    const Ended ended = process->wait();
    CHECK(ended.exit_code == 2);
    CHECK(ended.err.find("the ranks are not of one training: clip (0 on rank 0, 1 on rank 1), lr (0.25 on rank 0, 0.5 on rank "
                         "1): start all by the same command") != std::string::npos);
  }
}

}  // namespace hpcbench::train
