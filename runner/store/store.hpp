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

/// results/hpcbench.db: an index of the run directories, which win over it. A file that is broken or has another schema version
/// is moved aside (hpcbench.db.broken-N) and created again (`rebuilt()` gives the reason). A page found broken later has the
/// same effect, and the call that found it ends in an UnavailableError with the advice to call again. docs/database.md has the
/// schema. Every write is one short BEGIN IMMEDIATE transaction; no WAL (network file systems).
class Store {
 public:
  /// Opens or creates `path` (`:memory:` for tests). UnavailableError if it cannot be written or stays locked for 30 s.
  static Store open(const std::string& path);
  /// Opens without writing; nullopt if there is no usable database.
  static std::optional<Store> open_readonly(const std::string& path);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  /// Returns why the file was created again, else nullopt. The caller then indexes the run directories and prints the reason.
  const std::optional<std::string>& rebuilt() const;

  /// Inserts or replaces whole records, in one transaction. Numbers that are not finite are left out.
  void put(const std::vector<AttemptRecord>& records);
  /// Journals states of attempts without a record (intended), in one transaction. Never replaces a recorded outcome by a state
  /// that is no outcome.
  void put_states(const std::string& experiment, const std::vector<AttemptState>& states);
  /// Makes the next refresh read the folders of these attempts again, also after a crash.
  void reopen(const std::string& experiment, const std::vector<AttemptKey>& keys);
  /// Removes attempts whose folders are gone.
  void forget(const std::string& experiment, const std::vector<AttemptKey>& keys);
  /// Empties the index of one experiment, or of all. The study that was run last stays on record: no run directory holds it.
  void clear(const std::optional<std::string>& experiment);

  /// Returns all attempts of an experiment, sorted by key. One short read transaction.
  std::vector<AttemptState> states(const std::string& experiment) const;
  /// Returns whole records, sorted by key; the series of each sorted by name.
  std::vector<AttemptRecord> attempts(const std::string& experiment) const;
  /// Returns the attempt of each run that counts (the highest that is neither void nor set aside), without warm-ups. With
  /// `with_series` false their series are left out.
  std::vector<AttemptRecord> counting_attempts(const std::string& experiment, bool with_series) const;
  /// Returns all attempts that were set aside, sorted by key.
  std::vector<AttemptRecord> set_aside_attempts(const std::string& experiment, bool with_series) const;
  /// Passes the counting attempts to `visit` one by one, without axes, units, facts, warnings and series, which only tables
  /// show. `visit` must not use this Store.
  void visit_counting_attempts(const std::string& experiment, const std::function<void(AttemptRecord&&)>& visit) const;
  /// Passes the key, the time of intention and the program facts (ProgramVersions::is_program_fact) of the counting attempts to
  /// `visit`, sorted by key; skips attempts without such facts. `visit` must not use this Store.
  void visit_program_facts(
      const std::string& experiment,
      const std::function<void(const AttemptKey&, double intended_unix_s, const NameMap<std::string>&)>& visit) const;
  /// Returns the mean wall_s of the successful repeats of each configuration.
  std::map<std::string, double> mean_wall_times(const std::string& experiment) const;

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hpcbench
