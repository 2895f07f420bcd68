#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/host.hpp"

namespace hpcbench {

/// Begins the `why` of a claim that makes an attempt void: hpcbench revoked it for reasons of its own before it ran.
inline constexpr std::string_view kVoidPrefix = "void: ";

/// The content of `claim`: who may run the attempt. Empty file: its writer died while writing.
struct Claim {
  bool revoked = false;
  std::string why;    // of a revocation
  std::string token;  // of a job
  std::string job;    // its executor's id
  std::optional<ProcessIdentity> process;

  bool is_void() const { return revoked && why.starts_with(kVoidPrefix); }
};

std::string claim_text(const Claim& claim);
/// Total: anything unreadable counts as taken by an unknown owner (an empty Claim).
Claim parse_claim(const std::string& text);

/// O_CREAT|O_EXCL: true if this call won it.
bool try_claim(const std::string& attempt_folder, const Claim& claim);
/// Absent: no claim seen (which proves nothing; only winning does).
std::optional<Claim> read_claim(const std::string& attempt_folder);

}  // namespace hpcbench
