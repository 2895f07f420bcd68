#include "files/safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

constexpr const char* kMetadata = "__metadata__";
constexpr std::array kElementTypes = {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16,
                                      ElementType::i64, ElementType::i32, ElementType::u8,  ElementType::boolean};

/// Returns a name from a file for a message: control characters are escaped, and its length is bounded.
std::string quoted_name(const std::string& name) {
  constexpr std::size_t kShown = 80;
  std::string text = nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() <= kShown) return text;
  std::size_t cut = kShown;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return text.substr(0, cut) + "...\"";
}

/// Receives the header's events, in the one order that the format allows; the first invalid event ends the parse. Invalid
/// content is not stored, so a deep or long text costs no memory.
class HeaderReader {
 public:
  using json = nlohmann::json;

  explicit HeaderReader(const std::string& file) : file_(file) {}

  bool null() { return wrong("null"); }
  bool boolean(bool) { return wrong("true or false"); }
  bool number_float(json::number_float_t, const json::string_t&) { return wrong("a number that is not whole"); }
  bool binary(json::binary_t&) { return wrong("binary data"); }

  bool number_integer(json::number_integer_t value) {  // nlohmann-json calls this for negative numbers only
    if (place_ == Place::shape) fail(concat("has a negative size, ", value, ", in the shape of ", quoted_name(name_)));
    if (place_ == Place::offsets) fail(concat("has a negative offset, ", value, ", for ", quoted_name(name_)));
    return wrong("a number");
  }

  bool number_unsigned(json::number_unsigned_t value) {
    if (place_ == Place::shape) {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        fail(concat("has a size, ", value, ", in the shape of ", quoted_name(name_), " that no tensor can have"));
      entry_.shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (place_ != Place::offsets) return wrong("a number");
    offsets_.push_back(value);
    if (offsets_.size() > 2) fail(concat("has more than two data_offsets for ", quoted_name(name_)));
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::metadata) {
      header_.metadata.emplace_back(field_, std::move(value));
      return true;
    }
    if (place_ != Place::entry || field_ != "dtype") return wrong("a string");
    const auto type = std::find_if(kElementTypes.begin(), kElementTypes.end(),
                                   [&](ElementType candidate) { return value == to_string(candidate); });
    if (type == kElementTypes.end()) {
      fail(concat("holds ", quoted_name(name_), " with dtype ", quoted_name(value),
                  ", which is not understood (F64, F32, F16, BF16, I64, I32, U8 and BOOL are)"));
    }
    entry_.type = *type;
    return true;
  }

  bool start_object(std::size_t) {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::top) {
      place_ = name_ == kMetadata ? Place::metadata : Place::entry;
      entry_ = TensorEntry();
      fields_.clear();
      offsets_.clear();
    } else {
      return wrong("an object");
    }
    return true;
  }

  bool key(std::string& value) {
    if (place_ == Place::top) {
      if (!names_.insert(value).second) fail(concat("names ", quoted_name(value), " twice in its header"));
      name_ = std::move(value);
      return true;
    }
    if (!fields_.insert(value).second) fail(concat("says ", quoted_name(value), " twice for ", quoted_name(name_)));
    if (place_ == Place::entry && value != "dtype" && value != "shape" && value != "data_offsets")
      fail(concat("has an unknown field ", quoted_name(value), " for ", quoted_name(name_)));
    field_ = std::move(value);
    return true;
  }

  bool end_object() {
    if (place_ == Place::entry) finish_entry();
    place_ = place_ == Place::top ? Place::outside : Place::top;
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ != Place::entry || field_ == "dtype") return wrong("a list");
    place_ = field_ == "shape" ? Place::shape : Place::offsets;
    return true;
  }

  bool end_array() {
    place_ = Place::entry;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) {
    fail(concat("has a header that is not JSON, at its byte ", position, reason(error.what())));
  }

  SafetensorsHeader take() { return std::move(header_); }

 private:
  enum class Place { outside, top, metadata, entry, shape, offsets };

  [[noreturn]] void fail(const std::string& why) const { throw DataError(concat("error: ", file_, " ", why)); }

  /// Returns the last clause of the parser's message, which is short: the clauses before it quote the text.
  static std::string reason(const std::string& text) {
    constexpr std::size_t kShown = 120;
    const std::size_t cut = text.rfind("; ");
    const std::string last = cut == std::string::npos ? "" : text.substr(cut + 2);
    return last.empty() || last.size() > kShown || last.find("last read") != std::string::npos ? "" : " (" + last + ")";
  }

  bool wrong(const char* what) const {
    switch (place_) {
      case Place::outside:
        fail(concat("has a header that is ", what, ", not an object"));
      case Place::top:
        fail(concat("has ", what, " where ", quoted_name(name_), " should be described"));
      case Place::metadata:
        fail(concat("has ", what, " under __metadata__, which holds strings only"));
      case Place::entry:
        fail(concat("has ", what, " as ", field_, " of ", quoted_name(name_)));
      case Place::shape:
        fail(concat("has ", what, " in the shape of ", quoted_name(name_)));
      case Place::offsets:
        break;
    }
    fail(concat("has ", what, " in data_offsets of ", quoted_name(name_)));
  }

  void finish_entry() {
    for (const char* field : {"dtype", "shape", "data_offsets"})
      if (!fields_.contains(field)) fail(concat("lacks the ", field, " of ", quoted_name(name_)));
    if (offsets_.size() != 2) fail(concat("has fewer than two data_offsets for ", quoted_name(name_)));
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    entry_.name = name_;
    header_.tensors.push_back(std::move(entry_));
  }

  const std::string& file_;
  SafetensorsHeader header_;
  Place place_ = Place::outside;
  std::string name_;   // of the current tensor
  std::string field_;  // of that tensor, or the key under __metadata__
  TensorEntry entry_;
  std::vector<std::uint64_t> offsets_;
  std::set<std::string> names_;
  std::set<std::string> fields_;
};

/// Returns the size of shape and type in bytes; nullopt if it does not fit into 64 bits.
std::optional<std::uint64_t> bytes_of(const TensorEntry& entry) {
  std::uint64_t bytes = element_bytes(entry.type);
  for (const std::int64_t size : entry.shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) return std::nullopt;
  return bytes;
}

void check_layout(const std::vector<TensorEntry>& tensors, std::uint64_t data_bytes, const std::string& file) {
  const auto fail = [&](const std::string& why) { throw DataError(concat("error: ", file, " ", why)); };
  std::uint64_t filled = 0;
  for (const TensorEntry& entry : tensors) {
    const std::string name = quoted_name(entry.name);
    const std::string offsets = concat("(data_offsets ", entry.begin, ", ", entry.end, ")");
    if (entry.begin > entry.end) fail(concat("has a tensor, ", name, ", that ends before it begins ", offsets));
    if (entry.end > data_bytes)
      fail(concat("is too short or damaged: ", name, " lies outside of its ", data_bytes, " bytes of data ", offsets));
    if (entry.begin < filled) fail(concat("has tensors that overlap: ", name, " begins before byte ", filled, " ", offsets));
    if (entry.begin > filled) fail(concat("has a hole of ", entry.begin - filled, " bytes before ", name, " ", offsets));
    const auto bytes = bytes_of(entry);
    if (!bytes) fail(concat("gives ", name, " a shape that no file can hold"));
    if (*bytes != entry.end - entry.begin)
      fail(concat("gives ", name, " ", entry.end - entry.begin, " bytes, but its shape and type need ", *bytes));
    filled = entry.end;
  }
  if (filled != data_bytes) fail(concat("holds ", data_bytes - filled, " bytes after its last tensor"));
}

}  // namespace

std::size_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::f64:
    case ElementType::i64:
      return 8;
    case ElementType::f32:
    case ElementType::i32:
      return 4;
    case ElementType::f16:
    case ElementType::bf16:
      return 2;
    case ElementType::u8:
    case ElementType::boolean:
      break;
  }
  return 1;
}

const char* to_string(ElementType type) {
  constexpr std::array kNames = {"F64", "F32", "F16", "BF16", "I64", "I32", "U8", "BOOL"};
  return kNames[static_cast<std::size_t>(type)];
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes, const std::string& file) {
  // nlohmann-json takes a NUL for the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
    throw DataError(concat("error: ", file, " has a header that is not JSON, at its byte ", nul + 1, " (a NUL)"));
  HeaderReader reader(file);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  SafetensorsHeader header = reader.take();
  std::sort(header.tensors.begin(), header.tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_layout(header.tensors, data_bytes, file);
  return header;
}

}  // namespace hpcbench::train
