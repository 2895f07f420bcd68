#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "fakes/temporary_folder.hpp"
#include "ingest/attempt_record.hpp"

namespace hpcbench {

/// results/digits/0123456789abcdef/r02/a3 in a folder of its own, with files that a test writes.
class AttemptFolder {
 public:
  AttemptFolder() : path_(results() + "/0123456789abcdef/r02/a3") { std::filesystem::create_directories(path_); }

  const std::string& path() const { return path_; }
  std::string results() const { return (root_.path() / "results" / "digits").string(); }
  std::string outside() const { return root_.path().string(); }

  AttemptFolder& file(const std::string& name, const std::string& content) {
    std::ofstream(path_ + "/" + name, std::ios::binary) << content;
    return *this;
  }
  AttemptFolder& run_json(const std::string& more = "") {
    return file("run.json",
                R"({"schema":1,"experiment":"digits","config_id":"0123456789abcdef","run":"r02","attempt":3,)"
                R"("batch":"00ff00ff00ff00ff","executor":"local","axes":{"strategy":"ddp","lr":5e-05},"gpus":2,)"
                R"("intended_unix_s":1700000000.5,"resources":{"time_s":120},"success":{"exit_code":0,"pattern":null})" +
                    (more.empty() ? "" : "," + more) + "}");
  }
  AttemptFolder& finished(const std::string& more) {
    return file("finished.json", R"({"schema":1,"host":"node1","finished_unix_s":1700000100.25,"wall_s":42.5)" +
                                     (more.empty() ? "" : "," + more) + "}");
  }
  AttemptRecord read() const { return read_attempt(path_); }

 private:
  TemporaryFolder root_;
  std::string path_;
};

}  // namespace hpcbench
