#pragma once

#include <optional>

namespace hpcbench {

/// A TCP port without a listener on this host, drawn from those that the kernel gives to no connection while one of them is
/// free. As long as this lives, nobody else on this host draws it: a rank 0 needs seconds until it listens, and two trainings
/// that drew one port in these would meet each other's ranks.
class FreePort {
 public:
  /// Absent, and errno says why, if there is none.
  static std::optional<FreePort> draw();
  ~FreePort();
  FreePort(FreePort&& other) noexcept;
  FreePort& operator=(FreePort&& other) noexcept;
  FreePort(const FreePort&) = delete;
  FreePort& operator=(const FreePort&) = delete;

  int number() const { return number_; }

 private:
  FreePort(int number, int reservation) : number_(number), reservation_(reservation) {}

  int number_;
  int reservation_;  // a descriptor; -1: none
};

}  // namespace hpcbench
