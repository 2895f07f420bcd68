// The order in which a file gets its bytes and its name: a power cut, unlike SIGKILL, would show it. The calls of this program
// are counted on their way to the C library.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "fakes/temporary_folder.hpp"
#include "files/atomic_file.hpp"

namespace {

std::vector<std::string>* noted_calls = nullptr;  // NOLINT(readability-identifier-naming): null: not requested

template <class Function>
Function* library_call(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Returns the last part of a path, without the characters that make a temporary name unique.
std::string short_name(const std::filesystem::path& path) {
  const std::string name = path.filename();
  return name.substr(0, name.find(".tmp-")) + (name.find(".tmp-") == std::string::npos ? "" : ".tmp");
}

void note_descriptor(const std::string& call, int descriptor) {
  if (noted_calls == nullptr) return;
  std::error_code error;
  noted_calls->push_back(call + " " +
                         short_name(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error)));
}

}  // namespace

extern "C" ssize_t pwrite(int descriptor, const void* bytes, std::size_t count, off_t place) {
  note_descriptor("pwrite", descriptor);
  return library_call<ssize_t(int, const void*, std::size_t, off_t)>("pwrite")(descriptor, bytes, count, place);
}

extern "C" int fsync(int descriptor) {
  note_descriptor("fsync", descriptor);
  return library_call<int(int)>("fsync")(descriptor);
}

extern "C" int rename(const char* from, const char* to) noexcept {
  if (noted_calls != nullptr) noted_calls->push_back("rename " + short_name(from) + " " + short_name(to));
  return library_call<int(const char*, const char*)>("rename")(from, to);
}

namespace hpcbench::train {

TEST_CASE("atomic file: its bytes are on the disk before it has its name, and its name before finish() returns") {
  const TemporaryFolder folder;
  std::vector<std::string> calls;
  noted_calls = &calls;
  write_atomically(folder.path() / "last", "bytes");
  noted_calls = nullptr;
  CHECK(calls == std::vector<std::string>{"pwrite last.tmp", "fsync last.tmp", "rename last.tmp last",
                                          "fsync " + short_name(folder.path())});
}

}  // namespace hpcbench::train
