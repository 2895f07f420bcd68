#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "base/error.hpp"
#include "fakes/temporary_folder.hpp"
#include "files/safetensors.hpp"
#include "files/safetensors_header.hpp"

namespace hpcbench::train {

namespace {

using StringPairs = std::vector<std::pair<std::string, std::string>>;

std::string length_prefix(std::uint64_t length) {
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text;
}

/// Returns a file of the format: a header with its length, then `data_bytes` bytes 0, 1, 2, ...
std::string safetensors_bytes(const std::string& header, std::size_t data_bytes) {
  std::string bytes = length_prefix(header.size()) + header;
  for (std::size_t i = 0; i < data_bytes; ++i) bytes += static_cast<char>(i);
  return bytes;
}

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the error of opening a file of these bytes, without "error: FILE "; "" if it opens.
std::string error_of_bytes(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "model.safetensors";
  write_bytes(path, bytes);
  try {
    const SafetensorsFile file(path);
  } catch (const DataError& error) {
    const std::string text = error.what();
    const std::string prefix = "error: " + path.string() + " ";
    CHECK(text.rfind(prefix, 0) == 0);
    return text.substr(std::min(text.size(), prefix.size()));
  }
  return "";
}

std::string error_of_header(const std::string& header, std::size_t data_bytes) {
  return error_of_bytes(safetensors_bytes(header, data_bytes));
}

bool says(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("`" << text << "` does not say `" << part << "`");
  return found;
}

std::string one_entry(const std::string& shape, const std::string& offsets, const std::string& dtype = "F32") {
  return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

}  // namespace

TEST_CASE("safetensors: an explicitly composed file is read") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  write_bytes(path,
              safetensors_bytes(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},)"
                                R"("a":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]},)"
                                R"("empty":{"dtype":"F64","shape":[3,0],"data_offsets":[16,16]},)"
                                R"("scalar":{"dtype":"U8","shape":[],"data_offsets":[16,17]}}   )",
                                17));
  const SafetensorsFile file(path);
  REQUIRE(file.tensors().size() == 4);
  CHECK(file.tensors()[0].name == "a");
  CHECK(file.tensors()[1].name == "b");
  CHECK(file.tensors()[2].name == "empty");
  CHECK(file.tensors()[3].name == "scalar");
  const StoredTensor* a = file.find("a");
  REQUIRE(a);
  CHECK(a->type == ElementType::bf16);
  CHECK(a->shape == std::vector<std::int64_t>{2, 2});
  REQUIRE(a->bytes.size() == 8);
  CHECK(a->bytes[7] == std::byte{7});
  CHECK(file.find("scalar")->shape.empty());
  CHECK(file.find("scalar")->bytes[0] == std::byte{16});
  CHECK(file.find("empty")->bytes.empty());
  CHECK(file.find("c") == nullptr);
  CHECK(file.metadata() == StringPairs{{"format", "pt"}});
}

TEST_CASE("safetensors: a file without tensors is whole") {
  CHECK(error_of_header("{}", 0) == "");
  CHECK(says(error_of_header("{}", 3), "holds 3 bytes after its last tensor"));
}

TEST_CASE("safetensors: lengths that lie") {
  CHECK(says(error_of_bytes(""), "has 0 bytes"));
  CHECK(says(error_of_bytes("1234567"), "has 7 bytes"));
  CHECK(says(error_of_bytes(length_prefix(0)), "does not begin with {"));
  CHECK(
      says(error_of_bytes(length_prefix(UINT64_MAX) + "{}"), "announces a header of 18446744073709551615 bytes, and 2 follow"));
  CHECK(says(error_of_bytes(length_prefix(UINT64_MAX - 7) + "{}"), "18446744073709551608"));
  CHECK(says(error_of_bytes(length_prefix(std::uint64_t{1} << 63) + "{}"), "9223372036854775808"));
  CHECK(says(error_of_bytes(length_prefix(3) + "{}"), "a header of 3 bytes, and 2 follow"));
  CHECK(says(error_of_bytes(length_prefix(1) + "{}"), "not JSON"));
  CHECK(says(error_of_bytes(length_prefix(2) + "[]"), "does not begin with {"));
}

TEST_CASE("safetensors: a header above the format's limit is refused, though the file is as long") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "huge.safetensors";
  write_bytes(path, length_prefix(kMaxHeaderBytes + 1) + "{");
  std::filesystem::resize_file(path, kMaxHeaderBytes + 100);  // a hole: takes no space
  CHECK_THROWS_WITH_AS(SafetensorsFile{path}, doctest::Contains("the format allows 100000000"), DataError);
}

TEST_CASE("safetensors: offsets that lie") {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first + R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" +
           second + "}}";
  };
  CHECK(error_of_header(two("[0,4]", "[4,8]"), 8) == "");
  CHECK(error_of_header(two("[4,8]", "[0,4]"), 8) == "");
  CHECK(says(error_of_header(two("[0,4]", "[3,7]"), 7), "overlap: \"b\" begins before byte 4 (data_offsets 3, 7)"));
  CHECK(says(error_of_header(two("[0,4]", "[0,4]"), 4), "overlap"));
  CHECK(says(error_of_header(two("[0,4]", "[5,9]"), 9), "a hole of 1 bytes before \"b\""));
  CHECK(says(error_of_header(two("[1,5]", "[5,9]"), 9), "a hole of 1 bytes before \"a\""));
  CHECK(says(error_of_header(two("[0,4]", "[4,8]"), 9), "1 bytes after its last tensor"));
  CHECK(says(error_of_header(two("[0,4]", "[4,8]"), 7), "\"b\" lies outside of its 7 bytes"));
  CHECK(says(error_of_header(two("[0,4]", "[4,18446744073709551615]"), 8), "lies outside"));
  CHECK(says(error_of_header(two("[0,4]", "[18446744073709551612,8]"), 8), "ends before it begins"));
  CHECK(says(error_of_header(two("[0,4]", "[18446744073709551612,18446744073709551615]"), 8), "lies outside"));
  CHECK(says(error_of_header(two("[0,4]", "[4,18446744073709551616]"), 8), "not whole"));
  CHECK(says(error_of_header(two("[0,4]", "[-4,8]"), 8), "a negative offset, -4, for \"b\""));
  CHECK(says(error_of_header(two("[0,4]", "[4,3]"), 8), "ends before it begins"));
  CHECK(says(error_of_header(two("[0,4]", "[4]"), 8), "fewer than two data_offsets"));
  CHECK(says(error_of_header(two("[0,4]", "[]"), 8), "fewer than two data_offsets"));
  CHECK(says(error_of_header(two("[0,4]", "[4,8,8]"), 8), "more than two data_offsets"));
  CHECK(says(error_of_header(two("[0,4]", "[4.0,8]"), 8), "not whole"));
  CHECK(says(error_of_header(two("[0,4]", "[\"4\",8]"), 8), "a string in data_offsets"));
  CHECK(says(error_of_header(two("[0,4]", "[[4,8]]"), 8), "a list in data_offsets"));
  CHECK(says(error_of_header(two("[0,4]", "null"), 8), "null"));
}

TEST_CASE("safetensors: shapes and types that lie") {
  CHECK(error_of_header(one_entry("[2,3]", "[0,24]"), 24) == "");
  CHECK(says(error_of_header(one_entry("[2,2]", "[0,24]"), 24), "gives \"w\" 24 bytes, but its shape and type need 16"));
  CHECK(says(error_of_header(one_entry("[2,3]", "[0,24]", "F64"), 24), "need 48"));
  CHECK(says(error_of_header(one_entry("[-2,-3]", "[0,24]"), 24), "a negative size, -2"));
  CHECK(says(error_of_header(one_entry("[4294967296,4294967296]", "[0,0]"), 0), "a shape that no file can hold"));
  CHECK(says(error_of_header(one_entry("[4611686018427387904,4]", "[0,0]"), 0), "a shape that no file can hold"));
  CHECK(says(error_of_header(one_entry("[9223372036854775808]", "[0,0]"), 0), "no tensor can have"));
  CHECK(says(error_of_header(one_entry("[6.0]", "[0,24]"), 24), "not whole"));
  CHECK(says(error_of_header(one_entry("[1e1]", "[0,40]"), 40), "not whole"));
  CHECK(says(error_of_header(one_entry("[true]", "[0,4]"), 4), "true or false"));
  CHECK(says(error_of_header(one_entry("6", "[0,24]"), 24), "a number as shape"));
  CHECK(says(error_of_header(one_entry("[6]", "[0,6]", "F8_E4M3"), 6), "dtype \"F8_E4M3\""));
  CHECK(says(error_of_header(one_entry("[6]", "[0,24]", "f32"), 24), "not understood"));
}

TEST_CASE("safetensors: headers of another form") {
  CHECK(says(error_of_header(R"({"w":{"dtype":"F32","shape":[1]}})", 4), "lacks the data_offsets of \"w\""));
  CHECK(says(error_of_header(R"({"w":{"shape":[1],"data_offsets":[0,4]}})", 4), "lacks the dtype"));
  CHECK(says(error_of_header(R"({"w":{"dtype":"F32","data_offsets":[0,4]}})", 4), "lacks the shape"));
  CHECK(says(error_of_header(R"({"w":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4), "\"dtype\" twice"));
  CHECK(
      says(error_of_header(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}})", 4), "unknown field \"more\""));
  const std::string entry = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  CHECK(says(error_of_header("{" + entry + "," + entry + "}", 4), "names \"w\" twice"));
  CHECK(says(error_of_header(R"({"w":{},"\u0077":{}})", 4), "lacks the dtype"));
  CHECK(says(error_of_header(R"({"__metadata__":{"a":"1"},"__metadata__":{"a":"1"}})", 0), "twice"));
  CHECK(says(error_of_header(R"({"__metadata__":{"a":"1","a":"1"}})", 0), "\"a\" twice"));
  CHECK(says(error_of_header(R"({"__metadata__":{"a":1}})", 0), "strings only"));
  CHECK(says(error_of_header(R"({"__metadata__":{"a":{}}})", 0), "strings only"));
  CHECK(says(error_of_header(R"({"__metadata__":7})", 0), "should be described"));
  CHECK(says(error_of_header(R"({"w":[1]})", 0), "should be described"));
  CHECK(says(error_of_header(R"({"w":null})", 0), "null"));
  CHECK(says(error_of_header(R"({"w":)", 0), "not JSON"));
  CHECK(says(error_of_header("{} x", 0), "not JSON"));
  CHECK(says(error_of_header("{\"\xff\":{}}", 0), "not JSON"));
  CHECK(says(error_of_header(std::string("{}\0", 3), 0), "not JSON"));
}

TEST_CASE("safetensors: a deep header is refused at its first wrong level") {
  std::string deep = R"({"w":)";
  for (int i = 0; i < 1'000'000; ++i) deep += '[';
  CHECK(says(error_of_header(deep, 0), "a list where \"w\" should be described"));
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += R"({"a":)";
  CHECK(says(error_of_header(objects, 0), "unknown field"));
}

TEST_CASE("safetensors: a hostile name does not fill or colour the terminal") {
  const std::string text = error_of_header(R"({"\u001b[31m)" + std::string(100'000, 'y') + R"(":{}})", 0);
  CHECK(says(text, "\"\\u001b[31myyy"));
  CHECK(text.size() < 300);
}

TEST_CASE("safetensors: files of torch.save are refused with the way to convert them") {
  const std::string zip = error_of_bytes(std::string("PK\x03\x04\x00\x00\x08\x08\x00\x00\x00", 11) + std::string(100, '\0'));
  CHECK(says(zip, "is a file of torch.save"));
  CHECK(says(zip, "safetensors.torch"));
  CHECK(says(error_of_bytes(std::string("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14)), "torch.save"));
  CHECK(says(error_of_bytes("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), "git-lfs"));
  // A header of 640 bytes begins with the bytes of a pickle, but is none.
  const std::string header = "{}" + std::string(638, ' ');
  REQUIRE(safetensors_bytes(header, 0).substr(0, 2) == "\x80\x02");
  CHECK(error_of_header(header, 0) == "");
}

TEST_CASE("safetensors: a missing file is reported") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(SafetensorsFile{folder.path()}, doctest::Contains("not a regular file"), DataError);
  CHECK_THROWS_WITH_AS(SafetensorsFile{folder.path() / "none"}, doctest::Contains("No such file"), DataError);
}

TEST_CASE("safetensors: every cut of a file is refused") {
  const std::string whole = safetensors_bytes(one_entry("[2,3]", "[0,24]"), 24);
  REQUIRE(error_of_bytes(whole) == "");
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK(error_of_bytes(whole.substr(0, size)) != "");
  CHECK(error_of_bytes(whole + "x") != "");
}

TEST_CASE("safetensors: what is written is read again, with aligned data and sorted by element size") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "out.safetensors";
  const std::array<float, 3> floats = {1.5F, -2.0F, 0.25F};
  const std::array<double, 2> doubles = {3.25, -1e300};
  const std::array<std::uint8_t, 1> bytes = {7};
  const std::vector<StoredTensor> tensors = {
      {"small", ElementType::u8, {}, std::as_bytes(std::span(bytes))},
      {"floats \"q\" \xc3\xa9", ElementType::f32, {3, 1}, std::as_bytes(std::span(floats))},
      {"none", ElementType::f16, {0, 5}, {}},
      {"doubles", ElementType::f64, {2}, std::as_bytes(std::span(doubles))}};
  write_safetensors(path, tensors, {{"format", "pt"}, {"step", "3"}});
  const SafetensorsFile file(path);
  REQUIRE(file.tensors().size() == 4);
  CHECK(file.tensors()[0].name == "doubles");
  for (const StoredTensor& tensor : tensors) {
    const StoredTensor* read = file.find(tensor.name);
    REQUIRE(read);
    CHECK(read->type == tensor.type);
    CHECK(read->shape == tensor.shape);
    REQUIRE(read->bytes.size() == tensor.bytes.size());
    CHECK(std::equal(read->bytes.begin(), read->bytes.end(), tensor.bytes.begin()));
    CHECK(reinterpret_cast<std::uintptr_t>(read->bytes.data()) % element_bytes(read->type) == 0);
  }
  CHECK(file.metadata() == StringPairs{{"format", "pt"}, {"step", "3"}});
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);  // no temporary file remains
}

TEST_CASE("safetensors: the same tensors make the same bytes, and replace a file as a whole") {
  const TemporaryFolder folder;
  const std::array<float, 1> value = {1};
  const std::vector<StoredTensor> tensors = {{"w", ElementType::f32, {1}, std::as_bytes(std::span(value))}};
  write_safetensors(folder.path() / "a", tensors, {});
  write_bytes(folder.path() / "b", std::string(1000, 'x'));
  write_safetensors(folder.path() / "b", tensors, {});
  const std::string expected = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  )";
  REQUIRE(expected.size() == 56);
  CHECK(read_bytes(folder.path() / "a") == length_prefix(56) + expected + std::string("\x00\x00\x80\x3f", 4));
  CHECK(read_bytes(folder.path() / "b") == read_bytes(folder.path() / "a"));
}

TEST_CASE("safetensors: tensors that come one by one, in any order, make the same file") {
  const TemporaryFolder folder;
  const std::string small = "ab", large = "12345678abcdefgh", none;
  const auto bytes = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  std::vector<StoredTensor> tensors = {{"small", ElementType::u8, {2}, bytes(small)},
                                       {"large", ElementType::f64, {2}, bytes(large)},
                                       {"none", ElementType::f32, {0, 3}, bytes(none)}};
  write_safetensors(folder.path() / "once", tensors, {{"format", "pt"}});
  for (StoredTensor& tensor : tensors) tensor.bytes = {};
  {
    SafetensorsWriter writer(folder.path() / "parts", tensors, {{"format", "pt"}});
    writer.write(2, bytes(none));
    writer.write(0, bytes(small));
    CHECK_THROWS_WITH_AS(writer.finish(), doctest::Contains("large is missing"), DataError);
    CHECK_THROWS_WITH_AS(writer.write(1, bytes(small)), doctest::Contains("need 16"), DataError);
    writer.write(1, bytes(large));
    writer.finish();
  }
  CHECK((read_bytes(folder.path() / "once") == read_bytes(folder.path() / "parts")));
  { SafetensorsWriter(folder.path() / "left", tensors, {}).write(0, bytes(small)); }
  CHECK(!std::filesystem::exists(folder.path() / "left"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);  // and nothing temporary
}

TEST_CASE("safetensors: a hash receives the whole file, if the tensors come in the file's order") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "out";
  const std::string small = "ab", large = "12345678abcdefgh", none;
  const auto bytes = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  const std::vector<std::string> values = {small, none, large};
  const std::vector<StoredTensor> tensors = {
      {"small", ElementType::u8, {2}, {}}, {"none", ElementType::f64, {0}, {}}, {"large", ElementType::f64, {2}, {}}};
  ContentHash hash;
  SafetensorsWriter writer(path, tensors, {{"format", "pt"}}, &hash);
  CHECK(writer.order() == std::vector<std::size_t>{1, 2, 0});
  CHECK_THROWS_WITH_AS(writer.write(0, bytes(small)), doctest::Contains("small comes out of turn"), DataError);
  for (const std::size_t index : writer.order()) writer.write(index, bytes(values[index]));
  writer.finish();
  const std::string written = read_bytes(path);
  ContentHash expected;
  expected.add(bytes(written));
  CHECK(hash.digest() == expected.digest());
  CHECK(writer.bytes() == written.size());
}

TEST_CASE("safetensors: a seal tells each bit that is another, and what has none is taken as it is") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "model.safetensors";
  const std::array<float, 3> values = {1, 2, 3};
  const std::array<double, 2> wide = {4, 5};
  const std::vector<StoredTensor> tensors = {{"a", ElementType::f32, {3}, std::as_bytes(std::span(values))},
                                             {"none", ElementType::f64, {0}, {}},
                                             {"b", ElementType::f64, {2}, std::as_bytes(std::span(wide))}};
  const StringPairs metadata = {{"state", R"({"step": 12})"}};
  SafetensorsWriter writer(path, tensors, metadata, nullptr, Seal::hash);
  for (const std::size_t index : {0U, 1U, 2U}) writer.write(index, tensors[index].bytes);
  writer.finish();
  const std::string whole = read_bytes(path);
  const SafetensorsFile file(path);
  file.check_seal();
  CHECK(file.metadata().size() == 2);
  CHECK(whole.find("00000000000000000000000000000000") == std::string::npos);
  write_safetensors(path, tensors, metadata, Seal::hash);
  CHECK(read_bytes(path) == whole);
  std::size_t told = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write_bytes(path, damaged);
    try {
      SafetensorsFile(path).check_seal();
    } catch (const DataError&) {
      ++told;
    }
  }
  // The rest: the seal has another name, so there is none.
  CHECK(8 * whole.size() - told <= 8 * std::string("hpcbench_xxh3").size());
  write_safetensors(path, tensors, metadata);
  SafetensorsFile(path).check_seal();
}

TEST_CASE("safetensors: what cannot be written is refused and leaves nothing") {
  const TemporaryFolder folder;
  const std::array<float, 1> value = {1};
  const StoredTensor tensor = {"w", ElementType::f32, {1}, std::as_bytes(std::span(value))};
  StoredTensor wrong = tensor;
  wrong.shape = {2};
  CHECK_THROWS_WITH_AS(write_safetensors(folder.path() / "a", std::vector{wrong}, {}), doctest::Contains("need 8"), DataError);
  CHECK_THROWS_WITH_AS(write_safetensors(folder.path() / "a", std::vector{tensor, tensor}, {}),
                       doctest::Contains("two tensors"), DataError);
  CHECK_THROWS_WITH_AS(write_safetensors(folder.path() / "none" / "a", std::vector{tensor}, {}),
                       doctest::Contains("No such file"), DataError);
  std::filesystem::create_directory(folder.path() / "d");
  CHECK_THROWS_AS(write_safetensors(folder.path() / "d", std::vector{tensor}, {}), DataError);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("safetensors: damaged headers end in a header or a DataError, never otherwise") {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]}})";
  CHECK(rc::check("any change of any bytes", [&] {
    std::string text = header;
    const int changes = *rc::gen::inRange(1, 4);
    for (int i = 0; i < changes; ++i)
      text[*rc::gen::inRange<std::size_t>(0, text.size())] =
          *rc::gen::elementOf(std::string("0123456789-[]{},:\"\\e.F ab\xff"));
    try {
      const SafetensorsHeader read = parse_safetensors_header(text, 12, "f");
      std::uint64_t filled = 0;
      for (const TensorEntry& entry : read.tensors) {
        RC_ASSERT(entry.begin == filled);
        filled = entry.end;
      }
      RC_ASSERT(filled == 12U);
    } catch (const DataError& error) {
      RC_ASSERT(std::string(error.what()).rfind("error: f ", 0) == 0U);
    }
  }));
}

}  // namespace hpcbench::train
