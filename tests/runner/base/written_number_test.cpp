#include "base/written_number.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>

#include "base/measured_time.hpp"

using namespace hpcbench;

namespace {

using NumberKind = WrittenNumber::Kind;

std::optional<double> value_read(std::string_view text, DecimalMark mark = DecimalMark::unknown) {
  const WrittenNumber number = read_written_number(text, mark);
  return number.kind == NumberKind::number ? std::optional(number.value) : std::nullopt;
}

NumberKind kind_read(std::string_view text, DecimalMark mark = DecimalMark::unknown) {
  return read_written_number(text, mark).kind;
}

DecimalMark mark_of(std::string_view text, MarkEvidence evidence = MarkEvidence()) {
  evidence.add(text);
  return evidence.mark();
}

/// Any finite double, also tiny and huge ones.
rc::Gen<double> any_double() {
  return rc::gen::suchThat(
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t bits) { return std::bit_cast<double>(bits); }),
      [](double value) { return std::isfinite(value); });
}

/// With separators between groups of three digits of the whole part, as locales print it: 1234567.5 as `1.234.567,5`.
std::string grouped(std::string plain, std::string_view separator, std::string_view mark) {
  const std::size_t point = plain.find('.');
  std::string whole = plain.substr(0, point);
  std::string decimals = point == std::string::npos ? "" : std::string(mark) + plain.substr(point + 1);
  const std::size_t first = whole.starts_with('-') ? 1 : 0;
  for (std::size_t at = whole.size(); at > first + 3;) whole.insert(at -= 3, separator);
  return whole + decimals;
}

}  // namespace

TEST_CASE("durations as programs and people print them") {
  CHECK(parse_measured_time("63 min 48 s") == 3828.0);
  CHECK(parse_measured_time("8 min 02 s") == 482.0);
  CHECK(parse_measured_time("1 h 3 min") == 3780.0);
  CHECK(parse_measured_time("2m30.5s") == 150.5);
  CHECK(parse_measured_time("0.5 min") == 30.0);
  CHECK(parse_measured_time("1d2h") == 93600.0);
  CHECK(parse_measured_time("250 ms") == 0.25);
  CHECK(parse_measured_time("500 us") == 500e-6);
  CHECK(parse_measured_time("2 msec") == 2e-3);
  CHECK(parse_measured_time("7usec") == 7e-6);
  CHECK(parse_measured_time("3 \u00b5s") == 3e-6);
  CHECK(parse_measured_time("2m 7s 450ms") == 127.45);
  CHECK(parse_measured_time("1h 4s") == 3604.0);
  CHECK(parse_measured_time("1:03:48") == 3828.0);
  CHECK(parse_measured_time("63:48") == 3828.0);
  CHECK(parse_measured_time("00:00.250") == 0.25);
  CHECK(parse_measured_time("0:22:02.20") == 1322.2);
  CHECK(parse_measured_time("1-02:03:04") == 93784.0);
  CHECK(parse_measured_time("1-02:03") == 93780.0);
  for (const char* bad : {"", "5", "s", "5 x", "48 s 63 min", "5 s 5 s", "1:75:00", "1:2:3:4", "-5 s", "1.5:00", "1..5 s", ":",
                          "1:", "1e3 s", "min 5", "1.5-02:03:04", "1-02", "12.5 s x"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_measured_time(bad));
  }
}

TEST_CASE("plain numbers") {
  CHECK(parse_plain_number("-1.5e3") == -1500.0);
  for (const char* bad : {"", " 1", "1 ", "1,0", "inf", "nan", "1e999", "0x1"}) CHECK_FALSE(parse_plain_number(bad));
}

TEST_CASE("numbers that have one reading") {
  CHECK(value_read("-0.5e3") == -500.0);
  CHECK(value_read("+7") == 7);
  CHECK(value_read(" 12 ") == 12);
  CHECK(value_read(".5") == 0.5);
  CHECK(value_read("640216.") == 640216);
  CHECK(value_read("-1.5D+03") == -1500);
  CHECK(value_read("0.25d-1") == 0.025);
  CHECK(value_read("1,541,366") == 1541366);
  CHECK(value_read("-1,104.65") == -1104.65);
  CHECK(value_read("+12_000") == 12000);
  CHECK(value_read("1'234'567.5") == 1234567.5);
  CHECK(value_read("9.318,27") == 9318.27);
  CHECK(value_read("30.117.804.655") == 30117804655);
  CHECK(value_read("1\u202f234,5") == 1234.5);
  CHECK(value_read("95.3%") == 95.3);
  CHECK(read_written_number("95.3 %", DecimalMark::unknown).unit == "%");
  for (const char* text :
       {"1e999",        "0x10",      "+-1",         "--1",      "3d7",        "1.5D+3D",    "1.5DD3", "1,54,366",
        "1541,366,000", "1,541_366", ",541,366",    "1,541,36", "1,541,3666", "1,541,366,", "0,31",   "1.5,000,000",
        "_000",         "1.2.3",     "012,345,678", "step 7",   "7 steps",    "1.5.",       "12 GB/", "abc"}) {
    CAPTURE(std::string(text));
    CHECK(kind_read(text) == NumberKind::none);
  }
  CHECK(kind_read(std::string(101, '1')) == NumberKind::none);
  for (const char* text : {"", " ", "-", "--", "N/A", "n/a", "NA", "null", "None"})
    CHECK(kind_read(text) == NumberKind::absent);
  for (const char* text : {"nan", "-NaN", "Infinity", "-inf", "nan(0x8)"}) CHECK(kind_read(text) == NumberKind::not_finite);
}

TEST_CASE("the decimal mark decides between two readings") {
  CHECK(kind_read("1,234") == NumberKind::unclear);
  CHECK(read_written_number("1,234", DecimalMark::unknown).why.find("it may be 1234 or 1.234") == 0);
  CHECK(value_read("1,234", DecimalMark::point) == 1234);
  CHECK(value_read("1,234", DecimalMark::comma) == 1.234);
  CHECK(value_read("1.234", DecimalMark::comma) == 1234);
  CHECK(value_read("1.234", DecimalMark::point) == 1.234);
  CHECK(value_read("0,31", DecimalMark::comma) == 0.31);
  CHECK(kind_read("0,31", DecimalMark::point) == NumberKind::none);
  CHECK(kind_read("0.31", DecimalMark::comma) == NumberKind::none);
  CHECK(kind_read("1,104.65", DecimalMark::comma) == NumberKind::none);
  CHECK(value_read("1,5e3", DecimalMark::comma) == 1500);
}

TEST_CASE("evidence of the decimal mark: clear numbers, without a contradiction") {
  CHECK(mark_of("tflops: 1,293.21 tps: 6,175\n") == DecimalMark::point);
  CHECK(mark_of("tps: 1,541,366\n") == DecimalMark::point);
  CHECK(mark_of("9.318,27 msec 3,88 CPUs\n") == DecimalMark::comma);
  CHECK(mark_of("9.318,27 msec\n") == DecimalMark::disputed);
  CHECK(mark_of("duration 41.27 tokens 148,905\n") == DecimalMark::point);
  // `0,31` may be two values; `12,466` is the end of a time of day; versions and lists are no numbers.
  CHECK(mark_of("at 0,31 tokens 148,905\n") == DecimalMark::unknown);
  CHECK(mark_of("at 0,31 loss 0.25\n") == DecimalMark::unknown);
  CHECK(mark_of("17:40:12,466 tps 1,234\n") == DecimalMark::unknown);
  CHECK(mark_of("v8.1.2 gpus [100,200,300] n=1,234\n") == DecimalMark::unknown);
  CHECK(mark_of("9.318,27 and 1,104.65\n") == DecimalMark::disputed);
  // Cells of one column; those of others may be lists.
  CHECK(mark_of("1;118,42;97,5;\n", MarkEvidence(';', 1)) == DecimalMark::comma);
  CHECK(mark_of("1;118,42;97.5\n", MarkEvidence(';', 2)) == DecimalMark::point);
  CHECK(mark_of("1;118,42\n2;97.5\n", MarkEvidence(';', 1)) == DecimalMark::unknown);
  CHECK(mark_of("0,1;1.204\n0,1;1.198\n", MarkEvidence(';', 1)) == DecimalMark::unknown);
  CHECK(mark_of("a,\"240,5\",x\n", MarkEvidence(',', 1)) == DecimalMark::comma);
  CHECK(mark_of("a,1,25,x\n", MarkEvidence(',', 1)) == DecimalMark::unknown);
}

TEST_CASE("a reader gives values in the metric's unit") {
  const auto read = [](const std::string& unit, const std::string& text) {
    NumberReader reader(unit);
    const WrittenNumber number = reader.read(text);
    return number.kind == NumberKind::number ? std::optional(number.value) : std::nullopt;
  };
  CHECK(read("bytes", "1.2 GB") == 1200000000);
  CHECK(read("bytes", "980 MB") == 980000000);
  CHECK(read("bytes", "512K") == 524288);
  CHECK(read("bytes", "1.75G") == 1879048192);
  CHECK(read("GiB", "512M") == 0.5);
  CHECK(read("kB", "9472K") == 9472);
  CHECK(read("s", "1h 17m") == 4620);
  CHECK(read("s", "350ms") == 0.35);
  CHECK(read("ms", "2m3,5s") == 123500);
  CHECK(read("min", "5m") == 5);
  CHECK(read("%", "95.3%") == 95.3);
  for (const auto& [unit, text] : {std::pair("s", "1.2 GB"),
                                   {"GB", "5 s"},
                                   {"s", "95 %"},
                                   {"tokens", "16K"},
                                   {"", "16K"},
                                   {"", "1h 17m"},
                                   {"GB", "1:02:03"},
                                   {"tokens/s", "5 parsecs"}}) {
    CAPTURE(text);
    CHECK_FALSE(read(unit, text));
  }
  // The first unit becomes that of a metric without one.
  NumberReader reader;
  CHECK(reader.read("980 MB").value == 980);
  CHECK(reader.read("1.2 GB").value == 1200);
  CHECK(reader.unit() == "MB");
  CHECK(reader.read("5 s").kind == NumberKind::none);
  // A unit in another place.
  NumberReader bytes("bytes");
  CHECK(bytes.read("1.2", "GB").value == 1200000000);
  CHECK(bytes.read("7", "").value == 7);
  CHECK(bytes.read("1.2", "widgets").why == "it is in widgets, and the metric in bytes");
  CHECK(bytes.read("1.2 MB", "GB").kind == NumberKind::none);
}

TEST_CASE("a reader asks for the file's mark once, and only for a number with two readings") {
  int asked = 0;
  NumberReader reader;
  reader.begin_file([&] {
    ++asked;
    return DecimalMark::comma;
  });
  CHECK(reader.read("12.5").value == 12.5);
  CHECK(reader.read("7").value == 7);
  CHECK(asked == 0);
  CHECK(reader.read("1.204").value == 1204);
  CHECK(reader.read("3,884").value == 3.884);
  CHECK(reader.read_index("1.204") == 1204);
  CHECK(asked == 1);
  reader.begin_file([] { return DecimalMark::disputed; });
  CHECK(reader.read("1.204").why.starts_with("it may be 1.204 or 1204"));
  CHECK(reader.read("1.204").kind == NumberKind::unclear);
  CHECK(reader.read("12.25").value == 12.25);
  reader.begin_file({});
  CHECK(reader.read("1.204").value == 1.204);
  CHECK(reader.read("3,884").kind == NumberKind::unclear);
}

TEST_CASE("the whole number of which a pattern took the beginning") {
  const auto whole = [](const std::string& text, std::size_t end, bool is_time = false) {
    return std::string(whole_number(text, 0, end, is_time));
  };
  CHECK(whole("1,541,366 x", 1) == "1,541,366");
  CHECK(whole("7.25 x", 1) == "7.25");
  CHECK(whole("1.2e-5,", 3) == "1.2e-5");
  CHECK(whole("1.5,2.5", 3) == "1.5");
  CHECK(whole("9.318,27", 5) == "9.318,27");
  CHECK(whole("12.", 2) == "12");
  CHECK(whole("1\u202f234 x", 1) == "1\u202f234");
  CHECK(whole("5m11.80s WALL", 1, true) == "5m11.80s");
  CHECK(whole("19m 3.52s WALL", 2, true) == "19m 3.52s");
  CHECK(whole("2-03:14:25\n", 1, true) == "2-03:14:25");
  CHECK(whole("1h 17m total", 2, true) == "1h 17m");
  CHECK(whole("2m 7s 450ms, 3 calls", 2, true) == "2m 7s 450ms");
  CHECK(whole("5s 300 calls", 2, true) == "5s");
  CHECK(whole("1h 17m total", 2, false) == "1h");
  CHECK(whole("4.9 s 5 calls", 3, true) == "4.9");
  CHECK(whole("5m11.80s WALL", 1, false) == "5");
}

TEST_CASE("numbers are read back exactly") {
  CHECK(rc::check("as the C locale prints them", [] {
    const double value = *any_double();
    const std::string fixed =
        std::abs(value) < 1e60 && std::abs(value) > 1e-30 ? fmt::format("{:.20f}", value) : fmt::format("{:.17g}", value);
    for (const std::string& text :
         {fmt::format("{}", value), fmt::format("{:.17g}", value), fmt::format("{:e}", value), fixed}) {
      if (text.size() > 100) continue;
      RC_ASSERT(NumberReader().read(text).kind == NumberKind::number);
      RC_ASSERT(NumberReader().read(text).value == std::strtod(text.c_str(), nullptr));
    }
  }));
  CHECK(rc::check("as locales and Python print them", [] {
    const auto whole = *rc::gen::arbitrary<std::int64_t>();
    const int decimals = *rc::gen::inRange(0, 7);
    const std::string plain =
        fmt::format("{}", whole) + (decimals == 0 ? "" : "." + fmt::format("{:0{}}", *rc::gen::inRange(0, 10), decimals));
    const double value = std::strtod(plain.c_str(), nullptr);
    RC_ASSERT(value_read(grouped(plain, ".", ","), DecimalMark::comma) == value);       // de_DE
    RC_ASSERT(value_read(grouped(plain, "\u202f", ","), DecimalMark::comma) == value);  // fr_FR
    RC_ASSERT(value_read(grouped(plain, "\u00a0", ","), DecimalMark::comma) == value);
    RC_ASSERT(value_read(grouped(plain, ",", "."), DecimalMark::point) == value);  // Python's {:,}, en_US
    RC_ASSERT(value_read(grouped(plain, "_", ".")) == value);
    RC_ASSERT(value_read(grouped(plain, "'", ".")) == value);  // de_CH
    const WrittenNumber unaided = read_written_number(grouped(plain, ",", "."), DecimalMark::unknown);
    RC_ASSERT(unaided.kind == NumberKind::unclear || (unaided.kind == NumberKind::number && unaided.value == value));
  }));
}

TEST_CASE("Go's and Rust's durations are read back exactly") {
  CHECK(rc::check("of any number of nanoseconds", [] {
    const auto ns =
        *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 2'000'000), rc::gen::inRange<std::uint64_t>(0, 1ULL << 62U));
    const auto decimal = [](std::uint64_t amount, std::uint64_t unit, int digits) {
      std::string text = fmt::format("{}.{:0{}}", amount / unit, amount % unit, digits);
      while (text.ends_with('0')) text.pop_back();
      return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
    };
    const double seconds = std::strtod(fmt::format("{}e-9", ns).c_str(), nullptr);
    const std::string small = ns < 1000        ? fmt::format("{}ns", ns)
                              : ns < 1'000'000 ? decimal(ns, 1000, 3) + "\u00b5s"
                                               : decimal(ns, 1'000'000, 6) + "ms";
    const std::uint64_t minutes = ns / 60'000'000'000;
    const std::string rest = decimal(ns % 60'000'000'000, 1'000'000'000, 9) + "s";
    const std::string go = ns < 1'000'000'000 ? small
                           : minutes >= 60    ? fmt::format("{}h{}m{}", minutes / 60, minutes % 60, rest)
                           : minutes > 0      ? fmt::format("{}m{}", minutes, rest)
                                              : rest;
    const std::string rust = ns < 1'000'000'000 ? small : decimal(ns, 1'000'000'000, 9) + "s";
    NumberReader reader("s");
    for (const std::string& text : {go, rust}) {
      RC_ASSERT(reader.read(text).kind == NumberKind::number);
      RC_ASSERT(reader.read(text).value == seconds);
    }
    if (go.find('h') != std::string::npos) RC_ASSERT(reader.read("-" + go).value == -seconds);
  }));
}
