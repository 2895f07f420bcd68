#include "executors/slurm/slurm_accounting.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "executors/slurm/slurm_parse.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kIdField = 0;  // places in accounting_fields
constexpr std::size_t kNameField = 1;
constexpr std::size_t kStateField = 2;
constexpr double kAccountingMarginS = 86400;  // the database's clock need not be ours

/// Whether these are the rows of this job, and it has ended: its own row says so.
bool tells_the_end(const std::vector<std::string>& rows, const AccountedJob& job) {
  return std::any_of(rows.begin(), rows.end(), [&](const std::string& row) {
    const std::vector<std::string> fields = split(row, '|');
    if (fields.size() <= kStateField || fields[kIdField] != job.job || fields[kNameField] != job.name) return false;
    const std::string& state = fields[kStateField];
    return phase_of(state.substr(0, state.find(' '))) == JobState::ended;
  });
}

}  // namespace

std::vector<std::string> accounting_fields(const std::vector<std::string>& wanted) {
  std::vector<std::string> fields = {"JobID", "JobName", "State", "Elapsed", "TotalCPU", "MaxRSS", "ConsumedEnergyRaw"};
  for (const std::string& field : wanted) {
    if (std::find(fields.begin(), fields.end(), field) == fields.end()) fields.push_back(field);
  }
  return fields;
}

std::vector<std::string> accounting_arguments(const std::vector<AccountedJob>& jobs, const std::vector<std::string>& fields,
                                              const std::string& since, const std::string& user) {
  std::string ids;
  for (const AccountedJob& job : jobs) ids += (ids.empty() ? "" : ",") + job.job;
  return {"sacct", "-P", "-u", user, "-S", since, "-j", ids, "-o", join(fields, ",")};
}

AccountingRows read_accounting(std::string_view output) {
  AccountingRows rows;
  for (const std::string& line : split(output, '\n')) {
    const std::string id = line.substr(0, line.find('|'));
    if (line.find('|') == std::string::npos) continue;
    if (rows.header.empty()) {
      rows.header = line;
    } else {
      rows.of_jobs[id.substr(0, id.find('.'))].push_back(line);
    }
  }
  return rows;
}

std::string rows_of_job(const AccountingRows& rows, const AccountedJob& job) {
  const auto found = rows.of_jobs.find(job.job);
  if (found == rows.of_jobs.end() || !tells_the_end(found->second, job)) return "";
  return rows.header + "\n" + join(found->second, "\n") + "\n";
}

AccountingAnswer fetch_accounting(const std::vector<AccountedJob>& jobs, const std::vector<std::string>& fields,
                                  double since_unix_s, ToolRunner& tools, double timeout_s) {
  AccountingAnswer answer;
  if (jobs.empty()) return answer;
  ToolCall call;
  call.argv = accounting_arguments(jobs, fields, sacct_time(since_unix_s - kAccountingMarginS), std::to_string(::getuid()));
  call.timeout_s = timeout_s;
  const ToolResult result = tools.run(call);
  answer.accounting = has_accounting(result);
  if (!answer.accounting) return answer;
  if (!result.succeeded()) {
    answer.problem = describe(result);
    return answer;
  }
  const AccountingRows rows = read_accounting(result.output);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string text = rows_of_job(rows, jobs[i]);
    if (text.empty()) continue;
    try {
      write_file(jobs[i].folder + "/" + kAccountingFile, text, Durability::none);
      answer.written.push_back(i);
    } catch (const UnavailableError& error) {
      answer.problem = error.what();
    }
  }
  return answer;
}

}  // namespace hpcbench
