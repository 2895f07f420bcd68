#include "files/safetensors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "files/safetensors_header.hpp"

namespace hpcbench::train {

namespace {

static_assert(std::endian::native == std::endian::little, "elements are passed on as they are in the file");

constexpr std::size_t kLengthBytes = 8;
constexpr const char* kSealKey = "hpcbench_xxh3";
constexpr std::string_view kOpenSeal = "00000000000000000000000000000000";

[[noreturn]] void refuse_safetensors(const std::filesystem::path& path, const std::string& why) {
  throw DataError(concat("error: ", path.string(), " ", why));
}

/// Returns whether torch.save wrote the file: a zip archive, or (before 1.6) a pickle. A file with its usual name counts as
/// one, whatever its content.
bool is_torch_archive(const std::filesystem::path& path, std::string_view bytes) {
  if (path.filename() == "pytorch_model.bin") return true;
  if (bytes.size() > kLengthBytes && bytes[kLengthBytes] == '{') return false;
  if (bytes.substr(0, 4) == std::string_view("PK\x03\x04", 4)) return true;
  return bytes.size() >= 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

void refuse_other_formats(const std::filesystem::path& path, std::string_view bytes) {
  if (is_torch_archive(path, bytes)) {
    refuse_safetensors(
        path,
        concat("is a file of torch.save, which is not read. Convert it once with Python's torch and safetensors:\n"
               "  python3 -c \"import torch, safetensors.torch as s; t = torch.load('",
               path.string(),
               "', map_location='cpu', weights_only=True); s.save_file({k: v.clone().contiguous() for k, v in t.items()}, '",
               (path.parent_path() / "model.safetensors").string(), "', {'format': 'pt'})\""));
  }
  if (bytes.substr(0, 24) == "version https://git-lfs.")
    refuse_safetensors(path, "is a pointer of git-lfs, not the file itself: run `git lfs pull` where it came from");
}

std::uint64_t read_length(std::string_view bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  return length;
}

/// Returns the header's text, or an error.
std::string_view find_header(const std::filesystem::path& path, std::string_view bytes) {
  refuse_other_formats(path, bytes);
  if (bytes.size() < kLengthBytes) {
    refuse_safetensors(
        path, concat("is no safetensors file: it has ", bytes.size(), " bytes, and its header's length alone needs 8"));
  }
  const std::uint64_t length = read_length(bytes);
  const std::uint64_t rest = bytes.size() - kLengthBytes;
  if (length > rest) {
    refuse_safetensors(path, concat("is no safetensors file, or was cut off: it announces a header of ", length, " bytes, and ",
                                    rest, " follow"));
  }
  if (length > kMaxHeaderBytes)
    refuse_safetensors(path, concat("announces a header of ", length, " bytes; the format allows ", kMaxHeaderBytes));
  const std::string_view header = bytes.substr(kLengthBytes, static_cast<std::size_t>(length));
  if (header.empty() || header.front() != '{')
    refuse_safetensors(path, "is no safetensors file: its header does not begin with {");
  return header;
}

}  // namespace

struct SafetensorsFile::Mapping {
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (address != MAP_FAILED) munmap(address, size);
  }

  void map(const std::filesystem::path& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) throw DataError(concat("error: cannot read ", path.string(), ": ", std::strerror(errno)));
    struct stat facts {};
    const bool known = fstat(descriptor, &facts) == 0;
    const bool regular = known && S_ISREG(facts.st_mode);
    size = regular ? static_cast<std::size_t>(facts.st_size) : 0;
    if (size > 0) address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    const int cause = errno;
    close(descriptor);
    if (!regular) throw DataError(concat("error: cannot read ", path.string(), ": it is not a regular file"));
    if (size > 0 && address == MAP_FAILED)
      throw DataError(concat("error: cannot read ", path.string(), ": ", std::strerror(cause)));
  }

  std::string_view bytes() const {
    return size == 0 ? std::string_view() : std::string_view(static_cast<const char*>(address), size);
  }

  void* address = MAP_FAILED;
  std::size_t size = 0;
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::size_t> places;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::filesystem::path path;
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : mapping_(std::make_unique<Mapping>()) {
  mapping_->map(path);
  mapping_->path = path;
  const std::string_view bytes = mapping_->bytes();
  const std::string_view text = find_header(path, bytes);
  const std::string_view data = bytes.substr(kLengthBytes + text.size());
  SafetensorsHeader header = parse_safetensors_header(text, data.size(), path.string());
  for (TensorEntry& entry : header.tensors) {
    const std::string_view part = data.substr(entry.begin, entry.end - entry.begin);
    mapping_->places.emplace(entry.name, mapping_->tensors.size());
    mapping_->tensors.push_back({std::move(entry.name), entry.type, std::move(entry.shape), std::as_bytes(std::span(part))});
  }
  mapping_->metadata = std::move(header.metadata);
}

SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;

const std::vector<StoredTensor>& SafetensorsFile::tensors() const { return mapping_->tensors; }

const StoredTensor* SafetensorsFile::find(const std::string& name) const {
  const auto place = mapping_->places.find(name);
  return place == mapping_->places.end() ? nullptr : &mapping_->tensors[place->second];
}

const std::vector<std::pair<std::string, std::string>>& SafetensorsFile::metadata() const { return mapping_->metadata; }

namespace {

/// Returns the position of the seal's digits in a header.
std::size_t seal_place(std::string_view header) {
  const std::string before = concat('"', kSealKey, "\":\"");
  const std::size_t found = header.find(before);
  return found == std::string_view::npos ? found : found + before.size();
}

std::string seal_of(const std::string& header, const std::vector<ContentHash::Digest>& tensors) {
  ContentHash hash;
  hash.add_text(header);
  for (const ContentHash::Digest& digest : tensors) hash.add(std::as_bytes(std::span(digest)));
  return hex_of(hash.digest());
}

ContentHash::Digest digest_of(std::span<const std::byte> bytes) {
  ContentHash hash;
  hash.add(bytes);
  return hash.digest();
}

}  // namespace

void SafetensorsFile::check_seal() const {
  const auto& metadata = mapping_->metadata;
  const auto seal = std::find_if(metadata.begin(), metadata.end(), [](const auto& each) { return each.first == kSealKey; });
  if (seal == metadata.end()) return;
  const std::string_view bytes = mapping_->bytes();
  std::string header(bytes.substr(0, kLengthBytes + read_length(bytes)));
  const std::size_t place = seal_place(header);
  if (place != std::string::npos && seal->second.size() == kOpenSeal.size()) header.replace(place, kOpenSeal.size(), kOpenSeal);
  std::vector<ContentHash::Digest> digests;
  for (const StoredTensor& tensor : mapping_->tensors) {
    if (!tensor.bytes.empty()) digests.push_back(digest_of(tensor.bytes));
  }
  if (seal_of(header, digests) != seal->second)
    refuse_safetensors(mapping_->path, "is damaged: it does not hold what was written (its XXH3 is another)");
}

namespace {

/// Orders by element size, largest first, so that each tensor is aligned to its element; else in the order given.
std::vector<std::size_t> file_order(std::span<const StoredTensor> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return element_bytes(tensors[a].type) > element_bytes(tensors[b].type);
  });
  return order;
}

std::uint64_t bytes_needed(const StoredTensor& tensor) {
  std::uint64_t bytes = element_bytes(tensor.type);
  for (const std::int64_t size : tensor.shape) bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

/// Returns the length and the header, padded with spaces to a multiple of 8 bytes so that the data is aligned, too.
std::string header_text(const std::filesystem::path& path, std::span<const StoredTensor> tensors,
                        const std::vector<std::size_t>& order, const std::vector<std::pair<std::string, std::string>>& metadata,
                        Seal seal) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (seal == Seal::hash) header["__metadata__"][kSealKey] = kOpenSeal;
  for (const auto& [key, value] : metadata) header["__metadata__"][key] = value;
  std::set<std::string_view> names = {"__metadata__"};
  std::string text = header.dump();
  text.pop_back();  // entries are appended as text: an ordered object would search all its keys for each new one
  std::uint64_t begin = 0;
  for (const std::size_t index : order) {
    const StoredTensor& tensor = tensors[index];
    if (!names.insert(tensor.name).second)
      throw DataError(concat("error: cannot write ", path.string(), ": two tensors are named ", tensor.name));
    const std::uint64_t end = begin + bytes_needed(tensor);
    const nlohmann::ordered_json entry = {
        {"dtype", to_string(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    if (text.size() > 1) text += ',';
    text += nlohmann::json(tensor.name).dump() + ':' + entry.dump();
    begin = end;
  }
  text += '}';
  while (text.size() % kLengthBytes != 0) text += ' ';
  const std::uint64_t length = text.size();
  std::string prefix(kLengthBytes, '\0');
  std::memcpy(prefix.data(), &length, kLengthBytes);
  return prefix + text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::span<const StoredTensor> tensors,
                                     const std::vector<std::pair<std::string, std::string>>& metadata, ContentHash* hash,
                                     Seal seal)
    : path_(path), file_(path), places_(tensors.size()), order_(file_order(tensors)), hash_(hash) {
  const std::string header = header_text(path, tensors, order_, metadata, seal);
  if (seal == Seal::hash) header_ = header;
  const auto header_bytes = std::as_bytes(std::span(header));
  file_.write_at(0, header_bytes);
  if (hash_) hash_->add(header_bytes);
  hashed_ = bytes_ = header.size();
  for (const std::size_t index : order_) {
    places_[index] = {tensors[index].name, bytes_, bytes_needed(tensors[index])};
    bytes_ += places_[index].bytes;
  }
}

void SafetensorsWriter::write(std::size_t index, std::span<const std::byte> bytes) {
  Place& place = places_.at(index);
  if (bytes.size() != place.bytes) {
    throw DataError(concat("error: cannot write ", path_.string(), ": ", place.name, " has ", bytes.size(),
                           " bytes, its shape and type need ", place.bytes));
  }
  if (hash_ && place.begin != hashed_)
    throw DataError(concat("error: cannot write ", path_.string(), ": ", place.name, " comes out of turn"));
  file_.write_at(place.begin, bytes);
  if (hash_) hash_->add(bytes);
  hashed_ += bytes.size();
  if (!header_.empty()) place.digest = digest_of(bytes);
  place.is_written = true;
}

void SafetensorsWriter::finish() {
  for (const Place& place : places_) {
    if (!place.is_written) throw DataError(concat("error: cannot write ", path_.string(), ": ", place.name, " is missing"));
  }
  if (!header_.empty()) {
    const std::string sealed = sealed_header();
    file_.write_at(0, std::as_bytes(std::span(sealed)));
  }
  file_.finish();
}

std::string SafetensorsWriter::sealed_header() const {
  std::vector<ContentHash::Digest> digests;
  for (const std::size_t index : order_) {
    if (places_[index].bytes > 0) digests.push_back(places_[index].digest);
  }
  std::string sealed = header_;
  return sealed.replace(seal_place(header_), kOpenSeal.size(), seal_of(header_, digests));
}

void write_safetensors(const std::filesystem::path& path, std::span<const StoredTensor> tensors,
                       const std::vector<std::pair<std::string, std::string>>& metadata, Seal seal) {
  SafetensorsWriter writer(path, tensors, metadata, nullptr, seal);
  for (std::size_t index = 0; index < tensors.size(); ++index) writer.write(index, tensors[index].bytes);
  writer.finish();
}

}  // namespace hpcbench::train
