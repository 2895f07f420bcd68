#pragma once

#include <optional>

namespace hpcbench {

/// A TCP port without a listener on this host, preferably one that the kernel gives to no connection. While this object lives,
/// no other process on this host draws the same port: a rank 0 needs seconds until it listens, and two trainings with one port
/// would connect to each other's ranks.
class FreePort {
 public:
  /// Draws a port; nullopt and errno if none is free.
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
