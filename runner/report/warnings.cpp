#include "report/warnings.hpp"

#include <fmt/format.h>

#include <array>

#include "base/text.hpp"

namespace hpcbench {
namespace {

constexpr std::size_t kNamedAtMost = 3;

std::string list_with(const std::vector<std::string>& names, std::string_view separator) {
  if (names.size() <= kNamedAtMost) return join(names, separator);
  const std::vector<std::string> first(names.begin(), names.begin() + kNamedAtMost);
  return fmt::format("{}{}and {} more", join(first, separator), separator, names.size() - kNamedAtMost);
}

/// In the order in which they are printed: what makes a comparison wrong before what makes it vague.
constexpr std::array kChecks = {
    warn_superlinear, warn_confounded,  warn_loss_mismatch, warn_overlap,  warn_not_interleaved, warn_drift,
    warn_outlier,     warn_few_repeats, warn_baseline_few,  warn_failures, warn_unresolved,
};

}  // namespace

void Sightings::add(const Row& row, std::string seen) {
  rows_.push_back(row.config_id);
  seen_.push_back(std::move(seen));
}

void Sightings::report(const std::string& code, const std::string& why, const std::string& advice, Warnings& found) const {
  if (rows_.empty()) return;
  found.push_back({code, rows_, list_with(seen_, "; "), why, advice});
}

const Sample* baseline_of(const WarningContext& context, const Sample& sample) {
  if (!sample.baseline || sample.row.is_baseline) return nullptr;
  return &context.samples[*sample.baseline];
}

std::vector<TableWarning> find_warnings(const WarningContext& context) {
  Warnings found;
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

std::string list_some(const std::vector<std::string>& names) { return list_with(names, ", "); }

}  // namespace hpcbench
