#include "runfiles/life.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace hpcbench {

namespace {

std::string life_path(const std::string& attempt_folder) { return attempt_folder + "/alive"; }

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

std::optional<Descriptor> take_life(const std::string& attempt_folder) {
  Descriptor fd = open_study_file(life_path(attempt_folder), 0, kSecretFile);
  if (fd.get() < 0) return fd;
  struct flock lock = whole_file();
  if (::fcntl(fd.get(), F_OFD_SETLK, &lock) == 0) return fd;
  if (errno == EAGAIN || errno == EACCES) return std::nullopt;
  ::unlink(life_path(attempt_folder).c_str());  // without a lock it would say that the job is dead
  return Descriptor();
}

std::optional<bool> holds_life(const std::string& attempt_folder) {
  const std::string path = life_path(attempt_folder);
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct flock lock = whole_file();
  if (fd.get() < 0 || !is_own(path) || ::fcntl(fd.get(), F_OFD_GETLK, &lock) != 0) return std::nullopt;
  return lock.l_type != F_UNLCK;
}

}  // namespace hpcbench
