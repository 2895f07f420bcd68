#include "report/warnings/warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace hpcbench {
namespace {

/// Returns the first of `count` texts, at most `most`, and the number of the others.
std::string list_first(const std::vector<std::string>& texts, std::size_t count, std::size_t most, std::string_view separator) {
  const std::size_t shown = std::min(texts.size(), most);
  const std::string first =
      join(std::vector<std::string>(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(shown)), separator);
  return count == shown ? first : fmt::format("{}{}and {} more", first, separator, count - shown);
}

/// In the order of printing: problems that make a comparison wrong precede those that make it vague.
constexpr std::array kChecks = {
    warn_simulated_nodes,
    warn_cores_shared,
    warn_side_by_side_shared,
    warn_suspended,
    warn_published_mismatch,
    warn_equal_lines,
    warn_gpus_mismatch,
    warn_same_work,
    warn_ranks_disagree,
    warn_mixed_program,
    warn_changed_program,
    warn_set_aside,
    warn_superlinear,
    warn_confounded,
    warn_loss_mismatch,
    warn_overfitting,
    warn_shared_files,
    warn_overlap,
    warn_not_interleaved,
    warn_other_nodes,
    warn_drift,
    warn_correlated,
    warn_outlier,
    warn_few_repeats,
    warn_baseline_few,
    warn_adaptive,
    warn_undecided,
    warn_failures,
    warn_diverged,
    warn_unresolved,
    warn_no_value,
    warn_reference,
};

}  // namespace

void Sightings::append(const Seen& seen, const std::string& code, const std::string& why, const std::string& advice,
                       Warnings& found) const {
  if (seen.rows.empty()) return;
  found.push_back({code, seen.rows, list_first(seen.texts, seen.rows.size(), most_, "; "), why, advice});
}

void Sightings::report(const std::string& code, const std::string& why, const Advice& advice, Warnings& found) const {
  append(own_, code, why, advice.own, found);
  append(imported_, code, why, advice.imported, found);
}

bool is_only_imported(const Row& row) {
  return !row.runs.empty() &&
         std::all_of(row.runs.begin(), row.runs.end(), [](const RunValue& run) { return run.run.is_imported(); });
}

const Sample* baseline_of(const WarningContext& context, const Sample& sample) {
  if (!sample.baseline || sample.row.is_baseline) return nullptr;
  return &context.samples[*sample.baseline];
}

std::vector<TableWarning> find_warnings(const WarningContext& context) {
  Warnings found;
  warn_no_success(context, found);
  if (!found.empty()) {
    warn_simulated_nodes(context, found);  // titles state it whatever the outcome
    return found;
  }
  for (const auto check : kChecks) check(context, found);
  return found;
}

std::string row_label(const std::vector<std::string>& columns, const Row& row) {
  std::vector<std::string> parts;
  for (const std::string& column : columns) {
    if (const Value* value = find_binding(row.axes, column)) parts.push_back(column + "=" + value->text());
  }
  return parts.empty() ? row.config_id : join(parts, ", ");
}

std::string list_some(const std::vector<std::string>& names, bool whole) {
  return list_first(names, names.size(), whole ? names.size() : Sightings::kDescribed, ", ");
}

}  // namespace hpcbench
