#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/state.hpp"
#include "submit/executor.hpp"

namespace hpcbench {

/// Begins the WHY of a claim that recovery revoked: the attempt never ran, never will, and does not count.
inline constexpr std::string_view kVoidPrefix = "void: ";
/// Begins the WHY of a claim that was revoked because its job died before it could claim.
inline constexpr std::string_view kLostPrefix = "lost: ";

/// What an attempt's folder, and its executor, say of it.
struct Verdict {
  enum class Kind {
    finished,  // finished.json is there
    active,    // its job runs; `job` is the executor's id
    unseen,    // its job cannot be seen from here (another host): nothing may be concluded
    voided,    // revoked by recovery: it never ran and does not count
    settled,   // it ended without finished.json: `outcome` and `reason`
  };
  Kind kind = Kind::active;
  std::string job;
  State outcome = State::lost;
  std::string reason;
};

/// Whether `folder` holds finished.json.
bool has_finished(const std::string& folder);
/// Whether somebody took the attempt, as far as that can be seen: a claim or finished.json.
bool is_taken(const std::string& folder);

/// Judges an attempt that was, or may have been, handed over. Where no claim is seen it takes the claim itself by revoking it
/// with `why` (which begins with one of the prefixes above): only winning the claim proves that nobody else has it.
/// `ended`: what the executor said when the job ended; absent: it is asked.
Verdict judge_attempt(const std::string& folder, const std::string& job, const std::optional<std::string>& ended,
                      const std::string& why, Executor& executor);

}  // namespace hpcbench
