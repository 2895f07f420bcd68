#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "report/samples.hpp"

namespace hpcbench {

// The checks behind the warnings of a table; docs/warnings.md has their rules. Each check appends its findings.
using Warnings = std::vector<TableWarning>;

// Checks of a row against its baseline (comparison_warnings.cpp).
void warn_superlinear(const WarningContext& context, Warnings& found);
void warn_confounded(const WarningContext& context, Warnings& found);
void warn_loss_mismatch(const WarningContext& context, Warnings& found);
void warn_baseline_few(const WarningContext& context, Warnings& found);
void warn_unresolved(const WarningContext& context, Warnings& found);

// Checks of the times and places of runs (schedule_warnings.cpp).
void warn_overlap(const WarningContext& context, Warnings& found);
void warn_shared_files(const WarningContext& context, Warnings& found);
void warn_not_interleaved(const WarningContext& context, Warnings& found);
void warn_other_nodes(const WarningContext& context, Warnings& found);
void warn_drift(const WarningContext& context, Warnings& found);
void warn_correlated(const WarningContext& context, Warnings& found);

// Checks of the values of one row (row_warnings.cpp).
void warn_outlier(const WarningContext& context, Warnings& found);
void warn_few_repeats(const WarningContext& context, Warnings& found);
void warn_overfitting(const WarningContext& context, Warnings& found);
void warn_adaptive(const WarningContext& context, Warnings& found);
void warn_undecided(const WarningContext& context, Warnings& found);
void warn_failures(const WarningContext& context, Warnings& found);
void warn_diverged(const WarningContext& context, Warnings& found);
void warn_no_value(const WarningContext& context, Warnings& found);

// Checks of the files that the runs of a row executed (program_warnings.cpp).
void warn_mixed_program(const WarningContext& context, Warnings& found);
void warn_changed_program(const WarningContext& context, Warnings& found);
// Checks of runs that the user left out (program_warnings.cpp).
void warn_set_aside(const WarningContext& context, Warnings& found);

/// Returns whether the measured runs of a row executed several versions of the files behind such a fact (`code`, `deck`,
/// `inputs`): mixed-program warns about them.
bool is_mixed_program(const Sample& sample, std::string_view fact);

// Checks of a row against its references in the file (reference_warnings.cpp).
void warn_reference(const WarningContext& context, Warnings& found);

// Checks a table without any value: runs have ended, and none succeeded. Other warnings would be pointless.
void warn_no_success(const WarningContext& context, Warnings& found);

// Checks of a row's machine against the nodes, gpus and cores that the row requires (machine_warnings.cpp).
void warn_simulated_nodes(const WarningContext& context, Warnings& found);
void warn_cores_shared(const WarningContext& context, Warnings& found);
void warn_side_by_side_shared(const WarningContext& context, Warnings& found);
void warn_suspended(const WarningContext& context, Warnings& found);

// Checks of a row's published values against its own files (import_warnings.cpp).
void warn_published_mismatch(const WarningContext& context, Warnings& found);
void warn_equal_lines(const WarningContext& context, Warnings& found);
void warn_gpus_mismatch(const WarningContext& context, Warnings& found);
void warn_same_work(const WarningContext& context, Warnings& found);
void warn_ranks_disagree(const WarningContext& context, Warnings& found);

/// Advice for runs that hpcbench starts, and for imported runs, which cannot be repeated.
struct Advice {
  std::string own;
  std::string imported;
};

/// Returns the same advice for both cases.
inline Advice same_advice(const std::string& text) { return {text, text}; }

/// Returns whether a row has runs, and hpcbench started none of them.
bool is_only_imported(const Row& row);

/// Collects the rows of one warning, with a description of the first of them (of all with `whole_lists`).
class Sightings {
 public:
  static constexpr std::size_t kDescribed = 3;

  explicit Sightings(const WarningContext& context)
      : most_(context.whole_lists ? std::numeric_limits<std::size_t>::max() : kDescribed) {}

  /// `describe` makes the text `LABEL: finding`; it is called for the first rows only.
  template <class Describe>
  void add(const Row& row, const Describe& describe) {
    Seen& seen = is_only_imported(row) ? imported_ : own_;
    seen.rows.push_back(row.config_id);
    if (seen.texts.size() < most_) seen.texts.push_back(describe());
  }
  /// Appends the warning if there was any row: one for own rows and one for imported rows, if both exist.
  void report(const std::string& code, const std::string& why, const Advice& advice, Warnings& found) const;

 private:
  struct Seen {
    std::vector<std::string> rows;
    std::vector<std::string> texts;
  };
  void append(const Seen& seen, const std::string& code, const std::string& why, const std::string& advice,
              Warnings& found) const;

  std::size_t most_;  // rows that the message describes
  Seen own_;
  Seen imported_;
};

/// Returns the sample that this one is compared with; null for a baseline itself, and without a baseline.
const Sample* baseline_of(const WarningContext& context, const Sample& sample);

}  // namespace hpcbench
