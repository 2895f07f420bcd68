#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "base/written_number.hpp"
#include "ingest/metric_reader.hpp"

namespace hpcbench {

namespace {

constexpr std::string_view kJobField = "JobID";

/// 1024 or 1000 to the power that a suffix stands for; sacct divides energies by 1000, all else by 1024.
std::optional<double> suffix_factor(std::string_view field, char suffix) {
  const std::size_t power = std::string_view("KMGTPE").find(suffix);
  if (power == std::string_view::npos) return std::nullopt;
  return std::pow(field.starts_with("ConsumedEnergy") ? 1000.0 : 1024.0, static_cast<double>(power + 1));
}

/// `02:03.456`, `1-02:03:04`, `123456K`, `1.5M`, `42`.
std::optional<double> accounting_value(std::string_view field, std::string_view text) {
  text = trim(text);
  if (text.find(':') != std::string_view::npos) return read_written_number(text, DecimalMark::point).seconds;
  double factor = 1;
  if (!text.empty()) {
    if (const auto known = suffix_factor(field, text.back())) {
      factor = *known;
      text.remove_suffix(1);
    }
  }
  const std::optional<double> number = parse_plain_number(text);
  const bool fits = number && std::isfinite(*number * factor);
  return fits ? std::optional(*number * factor) : std::nullopt;
}

/// A field of `sacct -P`: of each job its own row's value, else the largest of its steps.
class AccountingReader : public MetricReader {
 public:
  explicit AccountingReader(const Metric& spec)
      : MetricReader(spec), lines_([this](std::string_view line, long long number) { take_line(line, number); }) {}

  void feed(std::string_view piece) override { lines_.feed(piece); }

 private:
  void begin_file() override {
    columns_ = 0;
    value_.reset();
    job_column_.reset();
    job_.reset();
    found_.reset();
  }

  void end_file() override {
    lines_.finish();
    end_job();
    if (columns_ == 0) warn_at_line(1, "no header of sacct -P: it has fields joined by |, JobID among them");
  }

  void take_line(std::string_view line, long long number) {
    const std::vector<std::string> fields = split(line, '|');
    const auto job = std::find(fields.begin(), fields.end(), kJobField);
    if (job != fields.end()) {
      take_header(fields, static_cast<std::size_t>(job - fields.begin()), number);
    } else if (columns_ > 0 && !trim(line).empty()) {
      take_row(fields, number);
    }
  }

  void take_header(const std::vector<std::string>& fields, std::size_t job_column, long long number) {
    end_job();
    columns_ = fields.size();
    job_column_ = job_column;
    const auto value = std::find(fields.begin(), fields.end(), spec_.selector);
    value_.reset();
    if (value != fields.end()) {
      value_ = static_cast<std::size_t>(value - fields.begin());
      return;
    }
    warn_at_line(number, fmt::format("no field {}{}; there are: {}", printable(spec_.selector),
                                     did_you_mean(spec_.selector, fields), printable(join(fields, ", "))));
  }

  void take_row(const std::vector<std::string>& fields, long long number) {
    if (!value_) return;
    if (fields.size() != columns_) {
      warn_at_line(number, fmt::format("{} fields under a header of {}", fields.size(), columns_));
      return;
    }
    const std::string& id = fields[*job_column_];
    const std::size_t dot = id.find('.');
    const std::string job = id.substr(0, dot);
    if (job_ != job) end_job();
    job_ = job;
    const std::string& text = fields[*value_];
    if (trim(text).empty()) return;
    const std::optional<double> value = accounting_value(spec_.selector, text);
    if (!value) {
      taker_.take_text(text);
      return;
    }
    const bool own = dot == std::string::npos;
    if (found_ && (found_->own || (!own && found_->value >= *value))) return;
    found_ = Found{*value, own, number};
  }

  void end_job() {
    if (found_) found_at_line(found_->line, taker_.take(found_->value));
    found_.reset();
    job_.reset();
  }

  struct Found {
    double value = 0;
    bool own = false;  // of the job's own row
    long long line = 0;
  };

  LineSplitter lines_;
  std::size_t columns_ = 0;
  std::optional<std::size_t> value_, job_column_;
  std::optional<std::string> job_;
  std::optional<Found> found_;
};

}  // namespace

std::unique_ptr<MetricReader> make_accounting_reader(const Metric& spec) { return std::make_unique<AccountingReader>(spec); }

}  // namespace hpcbench
