#include <unistd.h>

#include "submit/campaign.hpp"
#include "submit/cancel_notice.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

constexpr const char* kCancelledWhy = "cancelled before it began";

}  // namespace

CancelCounts cancel_attempts(const std::string& results, const std::vector<KnownAttempt>& attempts, Executor& executor,
                             CampaignObserver& observer) {
  CancelCounts counts;
  std::vector<AttemptKey> begun;
  // Those that wait are revoked before any that runs is ended: else its slot would go to one of them.
  for (const KnownAttempt& attempt : attempts) {
    const std::string folder = results + "/" + to_string(attempt.key);
    if (is_outcome(attempt.state) || ::access(folder.c_str(), F_OK) != 0) continue;
    if (has_finished(folder) || !try_claim(folder, revoke_attempt(kCancelledWhy).claim)) {
      begun.push_back(attempt.key);
      continue;
    }
    observer.settled(attempt.key, State::cancelled, kCancelledWhy);
    if (executor.in_batches()) executor.cancel(folder, {});
    ++counts.revoked;
  }
  for (const AttemptKey& key : begun) {
    const std::string folder = results + "/" + to_string(key);
    const Verdict verdict = judge_attempt(folder, {}, std::nullopt, revoke_attempt(kCancelledWhy), executor);
    switch (verdict.kind) {
      case Verdict::Kind::finished:
        observer.settled(key, std::nullopt, {});
        break;
      case Verdict::Kind::voided:
      case Verdict::Kind::settled:
        if (executor.in_batches() && verdict.outcome == State::lost) {
          observer.note(to_string(key) + ": its job has ended; `hpcbench run` settles it");
          break;
        }
        observer.settled(key, verdict.kind == Verdict::Kind::voided ? State::cancelled : verdict.outcome, verdict.reason);
        break;
      case Verdict::Kind::active:
        executor.cancel(folder, verdict.job);
        ++counts.running;
        break;
      case Verdict::Kind::unseen:
        observer.note(to_string(key) + ": cannot be ended from here: " + verdict.reason + "; run `hpcbench cancel` there");
        break;
    }
  }
  executor.flush();
  leave_cancel_notice(results);
  return counts;
}

}  // namespace hpcbench
