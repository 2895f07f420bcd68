// libFuzzer entry: any bytes through an adapter of docs/sources.md. The program's name selects it: csv_fuzzer, json_fuzzer,
// tensorboard_fuzzer, time_fuzzer, gpu_fuzzer. Bytes at once and in pieces must give the same. No exception is expected at all:
// every one, and every crash, leak or undefined behaviour, is a finding.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "ingest/csv_text.hpp"
#include "ingest/gpu_samples.hpp"
#include "ingest/imported.hpp"
#include "ingest/metric_reader.hpp"
#include "ingest/read_sources.hpp"

namespace {

using namespace hpcbench;

std::string fuzzed_source;  // csv, json, tensorboard, time or gpu

void require(bool holds) {
  if (!holds) std::abort();
}

MetricMatches read_pieces(const Metric& spec, std::string_view text, std::size_t size) {
  const auto reader = find_metric_source(spec.source)->make(spec);
  reader->begin("f", [text](MarkEvidence evidence) {
    evidence.add(text);
    return evidence.mark();
  });
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) reader->feed(text.substr(0, size));
  reader->end();
  return reader->finish();
}

void check(const Metric& spec, std::string_view text) {
  const auto reader = find_metric_source(spec.source)->make(spec);
  if (reader->error()) return;
  const MetricMatches whole = read_metric_text(spec, text, "f");
  const MetricMatches pieces = read_pieces(spec, text, 7);
  require(whole.value == pieces.value && whole.count == pieces.count && whole.place == pieces.place);
  require(whole.series.size() == pieces.series.size());
  // The reader's own warning; then, at most, why `take` chose nothing.
  require(whole.warnings.size() - pieces.warnings.size() <= 1);
  require(std::equal(pieces.warnings.begin(), pieces.warnings.end(), whole.warnings.begin()));
  // A last match that is no finite number leaves the value absent.
  require(whole.value ? whole.count > 0 : whole.count == 0 || whole.not_numbers + whole.not_finite > 0);
  require(pieces.warnings.size() <= 11);
  require(is_utf8(whole.first_not_number));
  for (const std::string& warning : whole.warnings) require(is_utf8(warning));
}

/// The first line is the pointer, the rest the file.
void check_json(std::string_view text) {
  const std::size_t cut = text.find('\n');
  if (cut == std::string_view::npos || cut > 100) return;
  check({"m", "*", std::string(text.substr(0, cut)), "", "step", "pointer", "step"}, text.substr(cut + 1));
  const std::optional<Imported> imported = parse_imported(text.substr(cut + 1));
  if (!imported) return;
  const std::optional<Imported> again = parse_imported(imported_json(*imported));
  require(again && again->values == imported->values && again->facts == imported->facts && again->outcome == imported->outcome);
}

std::uint32_t masked_crc32c_of(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

std::string little_endian_of(std::uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xFF);
  return bytes;
}

/// As a file, and as the content of a record with valid checksums: mutations rarely pass a checksum.
void check_tensorboard(std::string_view text) {
  const Metric spec{"m", "*", "loss", "", "step", "tag", ""};
  check(spec, text);
  const std::string length = little_endian_of(text.size(), 8);
  check(spec, length + little_endian_of(masked_crc32c_of(length), 4) + std::string(text) +
                  little_endian_of(masked_crc32c_of(text), 4));
}

void check_gpu(std::string_view text) {
  GpuSampleReader reader;
  reader.begin("gpu.csv");
  for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(std::min<std::size_t>(7, rest.size())))
    reader.feed(rest.substr(0, 7));
  reader.end();
  const GpuSummary summary = reader.finish();
  require(!summary.energy_wh || *summary.energy_wh >= 0);
  for (const auto& percent : {summary.power_capped_percent, summary.slowed_percent})
    require(!percent || (*percent >= 0 && *percent <= 100));
  require(!summary.ecc_errors || *summary.ecc_errors >= 0);
  for (const std::string& warning : summary.warnings) require(is_utf8(warning));
}

void check_csv(std::string_view text) {
  check({"m", "*", "a", "", "step", "column", "b"}, text);
  check({"m", "*", "a", "", std::nullopt, "column", ""}, text);
  check({"m_s", "*", "a/b", "s", std::nullopt, "column", ""}, text);
  // A written cell reads back as that cell.
  const std::string cell(text.substr(0, 200));
  std::vector<std::string> read;
  CsvReader csv([&](long long, std::vector<std::string>& cells) { read = cells; }, [](long long, const std::string&) {});
  csv.feed("x," + csv_cell(cell) + "\n");
  csv.finish();
  require(read.size() == 2 && read[1] == cell);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** argv) {
  const std::string name = std::filesystem::path((*argv)[0]).filename().string();
  fuzzed_source = name.substr(0, name.find("_fuzzer"));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (fuzzed_source == "csv") {
    check_csv(text);
  } else if (fuzzed_source == "json") {
    check_json(text);
  } else if (fuzzed_source == "tensorboard") {
    check_tensorboard(text);
  } else if (fuzzed_source == "gpu") {
    check_gpu(text);
  } else {
    for (const char* time : {"real", "user", "sys", "max_rss"}) check({"m", "*", time, "", "step", "time", ""}, text);
    for (const char* field : {"Elapsed", "MaxRSS", "ConsumedEnergy"})
      check({"m", "*", field, "", "step", "accounting", ""}, text);
    const std::optional<Outcome> words = find_slurm_words(text);
    require(!words || (is_outcome(words->state) && is_utf8(words->reason.value_or(""))));
  }
  return 0;
}
