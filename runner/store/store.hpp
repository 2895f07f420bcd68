#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/run_history.hpp"
#include "ingest/attempt_record.hpp"

namespace hpcbench {

/// results/hpcbench.db: an index of the run directories, which win over it. Another schema version or a broken file is
/// moved aside (hpcbench.db.broken-N) and made anew (`rebuilt()` says so). A page found broken later does the same, and the
/// call that found it ends in an UnavailableError that says to call again. docs/database.md has the schema. Every writer is one
/// short BEGIN IMMEDIATE transaction; no WAL (network file systems).
class Store {
 public:
  /// Opens or creates `path` (`:memory:` for tests). UnavailableError if it cannot be written or stays locked for 30 s.
  static Store open(const std::string& path);
  /// Opens without writing; absent if there is no usable database.
  static std::optional<Store> open_readonly(const std::string& path);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  /// Absent, or why the file was made anew: the caller should index the run directories again and say so.
  const std::optional<std::string>& rebuilt() const;

  /// Inserts or replaces whole records, in one transaction. Numbers that are not finite are left out.
  void put(const std::vector<AttemptRecord>& records);
  /// Journals states of attempts that have no record worth reading yet (intended), in one transaction. An outcome on
  /// record is never replaced by a state that is none.
  void put_states(const std::string& experiment, const std::vector<AttemptState>& states);
  /// From now on the next refresh reads the folders of these attempts again, also after a crash.
  void reopen(const std::string& experiment, const std::vector<AttemptKey>& keys);
  /// Removes attempts whose folders are gone.
  void forget(const std::string& experiment, const std::vector<AttemptKey>& keys);
  /// Empties the index of an experiment, or of all. What was run last stays: no run directory tells it.
  void clear(const std::optional<std::string>& experiment);

  /// All attempts of an experiment, sorted by key. One short read transaction.
  std::vector<AttemptState> states(const std::string& experiment) const;
  /// Whole records, sorted by key; the series of each sorted by name.
  std::vector<AttemptRecord> attempts(const std::string& experiment) const;
  /// The attempt that counts of each run (the highest that is neither void nor set aside), without warm-ups. With `with_series`
  /// false their series are left out.
  std::vector<AttemptRecord> counting_attempts(const std::string& experiment, bool with_series) const;
  /// All attempts that were set aside, sorted by key.
  std::vector<AttemptRecord> set_aside_attempts(const std::string& experiment, bool with_series) const;
  /// Hands over the counting attempts one after the other, without what only tables show: axes, units, facts, warnings and
  /// series are left out. `visit` must not use this Store.
  void visit_counting_attempts(const std::string& experiment, const std::function<void(AttemptRecord&&)>& visit) const;
  /// The key, when it was intended, and the program facts (ProgramVersions::is_program_fact) of the attempts that count, sorted
  /// by key; attempts without such facts are left out. `visit` must not use this Store.
  void visit_program_facts(
      const std::string& experiment,
      const std::function<void(const AttemptKey&, double intended_unix_s, const NameMap<std::string>&)>& visit) const;
  /// What the repeats of each configuration that succeeded took on average: the metric wall_s.
  std::map<std::string, double> mean_wall_times(const std::string& experiment) const;

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hpcbench
