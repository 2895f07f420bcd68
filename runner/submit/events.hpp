#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/run_name.hpp"
#include "base/state.hpp"
#include "ingest/attempt_record.hpp"
#include "ingest/reading.hpp"

namespace hpcbench {

/// Follows the attempts of a study: the index, the log, the progress display. It decides nothing.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Attempts are durable on disk, and not yet handed to the executor. One call a batch. An attempt that an earlier call
  /// intended and never handed over may come again, in a new batch.
  virtual void intended(const std::string& /*batch*/, const std::vector<AttemptKey>& /*attempts*/) {}
  virtual void submitted(const AttemptKey& /*attempt*/, const std::string& /*job*/) {}
  /// An attempt has ended. A void one never ran: its run gets another.
  virtual void ended(const AttemptRecord& /*record*/) {}
  /// An attempt that ended without success is followed by another: it decides nothing.
  virtual void tried_again(const AttemptKey& /*attempt*/) {}
  /// A message for people.
  virtual void note(const std::string& /*text*/) {}
};

/// Tells the listeners of a study, in their order, what happens to its attempts. When `intended` has returned, the index must
/// have it; the rest may be written later, in groups: recovery reads the folders.
class Events {
 public:
  /// `results`: the experiment's folder. `reading`: how the results of its attempts are read. The listeners must outlive it.
  Events(std::string results, Reading reading, std::vector<Listener*> listeners);

  void intended(const std::string& batch, const std::vector<AttemptKey>& attempts);
  void submitted(const AttemptKey& attempt, const std::string& job);
  /// Reads the attempt's folder, where finished.json stands; `without_finish`: it ended so, for this reason, without one, which
  /// is written down. Returns the outcome that was read.
  State ended(const AttemptKey& attempt, std::optional<State> without_finish, const std::string& reason);
  void tried_again(const AttemptKey& attempt);
  void note(const std::string& text);

 private:
  std::string results_;
  Reading reading_;
  std::vector<Listener*> listeners_;
};

}  // namespace hpcbench
