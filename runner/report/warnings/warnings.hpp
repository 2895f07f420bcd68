#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "report/samples.hpp"

namespace hpcbench {

// The checks behind the warnings of a table; their rules are in docs/warnings.md. Each appends what it found.
using Warnings = std::vector<TableWarning>;

// Of a row against its baseline (comparison_warnings.cpp).
void warn_superlinear(const WarningContext& context, Warnings& found);
void warn_confounded(const WarningContext& context, Warnings& found);
void warn_loss_mismatch(const WarningContext& context, Warnings& found);
void warn_baseline_few(const WarningContext& context, Warnings& found);
void warn_unresolved(const WarningContext& context, Warnings& found);

// Of when and where the runs ran (schedule_warnings.cpp).
void warn_overlap(const WarningContext& context, Warnings& found);
void warn_shared_files(const WarningContext& context, Warnings& found);
void warn_not_interleaved(const WarningContext& context, Warnings& found);
void warn_other_nodes(const WarningContext& context, Warnings& found);
void warn_drift(const WarningContext& context, Warnings& found);
void warn_correlated(const WarningContext& context, Warnings& found);

// Of the values of one row (row_warnings.cpp).
void warn_outlier(const WarningContext& context, Warnings& found);
void warn_few_repeats(const WarningContext& context, Warnings& found);
void warn_overfitting(const WarningContext& context, Warnings& found);
void warn_adaptive(const WarningContext& context, Warnings& found);
void warn_undecided(const WarningContext& context, Warnings& found);
void warn_failures(const WarningContext& context, Warnings& found);
void warn_diverged(const WarningContext& context, Warnings& found);
void warn_no_value(const WarningContext& context, Warnings& found);

// Of what the runs of a row executed (program_warnings.cpp).
void warn_mixed_program(const WarningContext& context, Warnings& found);
void warn_changed_program(const WarningContext& context, Warnings& found);
// Of runs that a person left out (program_warnings.cpp).
void warn_set_aside(const WarningContext& context, Warnings& found);

/// Whether the measured runs of a row executed several versions of what such a fact stands for (`code`, `deck`, `inputs`):
/// mixed-program warns of it.
bool is_mixed_program(const Sample& sample, std::string_view fact);

// Of a row against what the file says it should reach (reference_warnings.cpp).
void warn_reference(const WarningContext& context, Warnings& found);

// Of a table without any value: runs have ended, and none succeeded. Other warnings would be about nothing.
void warn_no_success(const WarningContext& context, Warnings& found);

// Of the machine that a row ran on against the nodes, gpus and cores that it asks for (machine_warnings.cpp).
void warn_simulated_nodes(const WarningContext& context, Warnings& found);
void warn_cores_shared(const WarningContext& context, Warnings& found);
void warn_side_by_side_shared(const WarningContext& context, Warnings& found);
void warn_suspended(const WarningContext& context, Warnings& found);

// Of what is published of a row against what its own files say (import_warnings.cpp).
void warn_published_mismatch(const WarningContext& context, Warnings& found);
void warn_equal_lines(const WarningContext& context, Warnings& found);
void warn_gpus_mismatch(const WarningContext& context, Warnings& found);
void warn_same_work(const WarningContext& context, Warnings& found);
void warn_ranks_disagree(const WarningContext& context, Warnings& found);

/// What to do about runs that hpcbench starts, and about those that were imported: these cannot be made anew.
struct Advice {
  std::string own;
  std::string imported;
};

/// Where the two cases ask for the same.
inline Advice same_advice(const std::string& text) { return {text, text}; }

/// Whether a row has runs, and hpcbench started none of them.
bool is_only_imported(const Row& row);

/// Collects the rows that one warning is about, and says what was seen in the first of them (with `whole_lists` in all).
class Sightings {
 public:
  static constexpr std::size_t kDescribed = 3;

  explicit Sightings(const WarningContext& context)
      : most_(context.whole_lists ? std::numeric_limits<std::size_t>::max() : kDescribed) {}

  /// `describe` makes the text `LABEL: what was seen`; it is asked for the first rows only.
  template <class Describe>
  void add(const Row& row, const Describe& describe) {
    Seen& seen = is_only_imported(row) ? imported_ : own_;
    seen.rows.push_back(row.config_id);
    if (seen.texts.size() < most_) seen.texts.push_back(describe());
  }
  /// Appends the warning if there was any row; one for our rows and one for imported rows where both are there.
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

/// The sample that this one is compared with; null for a baseline itself and where there is none.
const Sample* baseline_of(const WarningContext& context, const Sample& sample);

}  // namespace hpcbench
