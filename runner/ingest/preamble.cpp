#include "ingest/preamble.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/byte_order_mark.hpp"
#include "base/text.hpp"
#include "ingest/line_reader.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMostSeen = std::size_t{1} << 20;

RE2::Options header_options() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  return options;
}

}  // namespace

struct Preamble::Impl {
  explicit Impl(const Metric& metric) : spec(metric), pattern(metric.header, header_options()) {}

  /// `line` with its end, as far as it has one and is not too long.
  bool is_header(std::string_view line) const {
    if (spec.header_line > 0) return lines == spec.header_line;
    if (lines == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (line.ends_with('\n')) line.remove_suffix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), pattern);
  }

  void judge(const Take& take) {
    ++lines;
    found = is_header(pending);
    if (found) {
      take(pending);
    } else if (pending.ends_with('\n')) {
      take("\n");
    } else {
      too_long = true;
    }
    pending.clear();
  }

  Metric spec;
  RE2 pattern;
  bool found = false;
  bool too_long = false;  // within a line that is none of the data: up to its end nothing is
  long long lines = 0;    // that were judged
  std::string pending;    // the beginning of the next
};

Preamble::Preamble(const Metric& spec) : impl_(std::make_unique<Impl>(spec)) {}

Preamble::~Preamble() = default;

std::optional<std::string> Preamble::error() const {
  return impl_->pattern.ok() ? std::nullopt : std::optional("`header` is no pattern: " + impl_->pattern.error());
}

void Preamble::begin() {
  impl_->found = !impl_->spec.has_header();
  impl_->too_long = false;
  impl_->lines = 0;
  impl_->pending.clear();
}

void Preamble::feed(std::string_view piece, const Take& take) {
  while (!impl_->found && !piece.empty()) {
    const std::size_t newline = piece.find('\n');
    const bool whole = newline != std::string_view::npos;
    const std::string_view part = piece.substr(0, whole ? newline + 1 : piece.size());
    piece.remove_prefix(part.size());
    if (impl_->too_long) {
      if (!whole) continue;
      impl_->too_long = false;
      take("\n");
      continue;
    }
    impl_->pending += part;
    if (whole || impl_->pending.size() >= kMostSeen) impl_->judge(take);
  }
  if (!piece.empty()) take(piece);
}

void Preamble::end(const Take& take) {
  if (!impl_->found && !impl_->pending.empty()) impl_->judge(take);
}

std::optional<std::string> Preamble::missing() const {
  if (impl_->found) return std::nullopt;
  if (impl_->spec.header_line > 0) {
    return fmt::format("it has {} line{}, and `header` is line {}", impl_->lines, impl_->lines == 1 ? "" : "s",
                       impl_->spec.header_line);
  }
  return fmt::format("no line matches `header` {}", printable(impl_->spec.header));
}

std::optional<std::string> missing_header(const Metric& spec, const std::string& file) {
  if (!spec.has_header()) return std::nullopt;
  Preamble preamble(spec);
  if (preamble.error()) return preamble.error();
  const Preamble::Take nothing = [](std::string_view) {};
  preamble.begin();
  read_lines(file, [&](std::string_view piece) {
    preamble.feed(piece, nothing);
    return preamble.missing().has_value();
  });
  preamble.end(nothing);
  return preamble.missing();
}

}  // namespace hpcbench
