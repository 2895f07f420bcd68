#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/tool_runner.hpp"

namespace hpcbench {

/// The file of an attempt's folder that holds what `sacct -P` says of its job: the header, the job's own row and those of its
/// steps, as they were printed. Metrics with `accounting` read it (docs/sources.md).
constexpr const char* kAccountingFile = "sacct.txt";

/// A job that has ended, and where what accounting says of it goes.
struct AccountedJob {
  std::string folder;  // of the attempt
  std::string job;     // `123` or `123_4`
  std::string name;    // EXPERIMENT.BATCH: ids are given out again
};

/// What became of one question to accounting.
struct AccountingAnswer {
  std::vector<std::size_t> written;  // of the jobs: their file stands
  std::string problem;               // of sacct, for people; empty: it answered
  bool accounting = true;            // false: there is none
};

/// The fields that are asked for: JobID, JobName and State, which say whose rows these are, then Elapsed, TotalCPU, MaxRSS and
/// ConsumedEnergyRaw, then those of `wanted` that are not among them.
std::vector<std::string> accounting_fields(const std::vector<std::string>& wanted);

/// Arguments of one sacct for all these jobs; `since` as in sacct_arguments.
std::vector<std::string> accounting_arguments(const std::vector<AccountedJob>& jobs, const std::vector<std::string>& fields,
                                              const std::string& since, const std::string& user);

/// What sacct printed.
struct AccountingRows {
  std::string header;
  std::map<std::string, std::vector<std::string>> of_jobs;  // by job, its steps' too, in the order of sacct
};

/// From any text; lines without fields are not rows.
AccountingRows read_accounting(std::string_view output);

/// The header and the rows of one job; empty where it has none, where the job has not ended yet, or where it is another one
/// that was given the same id.
std::string rows_of_job(const AccountingRows& rows, const AccountedJob& job);

/// Asks once for all `jobs` and writes the file of each that accounting knows to have ended. `since_unix_s`: none of them was
/// submitted before. A file that cannot be written is a problem, never an exception.
AccountingAnswer fetch_accounting(const std::vector<AccountedJob>& jobs, const std::vector<std::string>& fields,
                                  double since_unix_s, ToolRunner& tools, double timeout_s);

}  // namespace hpcbench
