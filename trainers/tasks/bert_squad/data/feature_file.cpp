#include "tasks/bert_squad/data/feature_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hpcbench::train {

namespace {

constexpr std::uint64_t kFeatureMagic = 0x5346514442435048ULL;  // "HPCBDQFS" in little-endian order

static_assert(sizeof(FeatureRecord) == 32 && sizeof(QuestionRecord) == 56 && sizeof(AnswerRecord) == 8);
static_assert(sizeof(FeatureFileHeader) == 104);

/// Returns the file's checksum, from the hash of everything after the header.
ContentHash::Digest file_checksum(ContentHash hash, FeatureFileHeader header) {
  header.checksum = {};
  hash.add(std::as_bytes(std::span(&header, 1)));
  return hash.digest();
}

void write_fully(int descriptor, std::span<const std::byte> bytes, std::uint64_t position) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(position));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw FeatureFileError(std::strerror(written < 0 ? errno : ENOSPC));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    position += static_cast<std::uint64_t>(written);
  }
}

/// Hashes everything after the header. Reads it instead of mapping it, so that pages that only the check touches do not count
/// as this process's memory.
ContentHash hash_of_rest(int descriptor) {
  ContentHash hash;
  std::vector<std::byte> buffer(1U << 18U);
  std::uint64_t position = sizeof(FeatureFileHeader);
  while (true) {
    const ssize_t got = ::pread(descriptor, buffer.data(), buffer.size(), static_cast<off_t>(position));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw FeatureFileError(std::strerror(errno));
    if (got == 0) return hash;
    hash.add({buffer.data(), static_cast<std::size_t>(got)});
    position += static_cast<std::uint64_t>(got);
  }
}

[[noreturn]] void damaged(const char* what) { throw FeatureFileError(what); }

}  // namespace

FeatureFileWriter::FeatureFileWriter(int descriptor) : descriptor_(descriptor) {}

void FeatureFileWriter::append(std::span<const std::byte> bytes) {
  write_fully(descriptor_, bytes, position_);
  hash_.add(bytes);
  position_ += bytes.size();
}

void FeatureFileWriter::finish(const ContentHash::Digest& key, const FeatureTables& tables, const FeatureFileFacts& facts) {
  const std::array<std::byte, 8> padding{};
  append(std::span(padding).first((8 - position_ % 8) % 8));
  FeatureFileHeader header;
  header.magic = kFeatureMagic;
  header.format = kFeatureFormat;
  header.key = key;
  header.features_position = position_;
  header.features = tables.features.size();
  header.questions = tables.questions.size();
  header.answers = tables.answers.size();
  header.facts = facts;
  append(std::as_bytes(std::span(tables.features)));
  append(std::as_bytes(std::span(tables.questions)));
  append(std::as_bytes(std::span(tables.answers)));
  header.file_bytes = position_;
  header.checksum = file_checksum(hash_, header);
  write_fully(descriptor_, std::as_bytes(std::span(&header, 1)), 0);
}

MappedFeatureFile::MappedFeatureFile(int descriptor, const ContentHash::Digest& key) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw FeatureFileError(std::strerror(errno));
  size_ = static_cast<std::size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || size_ < sizeof(FeatureFileHeader)) damaged("it is too short");
  void* const address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) throw FeatureFileError(std::strerror(errno));
  bytes_ = static_cast<const std::byte*>(address);
  try {
    check(descriptor, key);
  } catch (...) {
    ::munmap(const_cast<std::byte*>(bytes_), size_);
    throw;
  }
}

MappedFeatureFile::~MappedFeatureFile() { ::munmap(const_cast<std::byte*>(bytes_), size_); }

void MappedFeatureFile::check(int descriptor, const ContentHash::Digest& key) {
  const FeatureFileHeader& head = header();
  if (head.magic != kFeatureMagic) damaged("it does not begin as a feature cache");
  if (head.format != kFeatureFormat) damaged("it has another format");
  if (head.key != key) damaged("it was made from something else");
  if (head.file_bytes != size_) damaged("it is not as long as it was made");
  if (file_checksum(hash_of_rest(descriptor), head) != head.checksum) damaged("its checksum is wrong");

  const std::uint64_t most = size_ / sizeof(AnswerRecord);  // so that the products below cannot overflow
  if (head.features > most || head.questions > most || head.answers > most) damaged("its tables are too long");
  const std::uint64_t tables =
      head.features * sizeof(FeatureRecord) + head.questions * sizeof(QuestionRecord) + head.answers * sizeof(AnswerRecord);
  if (tables > size_ - sizeof(FeatureFileHeader) || head.features_position != size_ - tables || head.features_position % 8 != 0)
    damaged("its tables do not fit");
  const std::byte* at = bytes_ + head.features_position;
  features_ = {reinterpret_cast<const FeatureRecord*>(at), static_cast<std::size_t>(head.features)};
  at += features_.size_bytes();
  questions_ = {reinterpret_cast<const QuestionRecord*>(at), static_cast<std::size_t>(head.questions)};
  at += questions_.size_bytes();
  answers_ = {reinterpret_cast<const AnswerRecord*>(at), static_cast<std::size_t>(head.answers)};
  check_records();
}

void MappedFeatureFile::check_records() const {
  const std::uint64_t end = header().features_position;
  const auto inside = [&](std::uint64_t position, std::uint64_t bytes) {
    return position >= sizeof(FeatureFileHeader) && position <= end && bytes <= end - position;
  };
  const auto in_table = [](std::int64_t first, std::int64_t count, std::size_t size) {
    return first >= 0 && count >= 0 && static_cast<std::uint64_t>(first) <= size &&
           static_cast<std::uint64_t>(count) <= size - static_cast<std::uint64_t>(first);
  };
  const auto question_count = static_cast<std::int64_t>(questions_.size());
  for (const FeatureRecord& feature : features_) {
    const auto within = [&](std::int32_t token) { return token >= 0 && token < feature.tokens; };
    if (feature.tokens < 0 || feature.position % 4 != 0 ||
        !inside(feature.position, std::uint64_t{12} * static_cast<unsigned>(feature.tokens)) ||
        !within(feature.context_begin) || !within(feature.start_position) || !within(feature.end_position) ||
        feature.question < 0 || feature.question >= question_count)
      damaged("one of its features is impossible");
  }
  for (const QuestionRecord& question : questions_) {
    if (!inside(question.id_position, question.id_bytes) || !inside(question.context_position, question.context_bytes) ||
        !in_table(question.first_feature, question.features, features_.size()) ||
        !in_table(question.first_answer, question.answers, answers_.size()))
      damaged("one of its questions is impossible");
    for (const AnswerRecord& answer :
         answers_.subspan(static_cast<std::size_t>(question.first_answer), static_cast<std::size_t>(question.answers))) {
      if (answer.begin > question.context_bytes || answer.bytes > question.context_bytes - answer.begin)
        damaged("one of its answers is impossible");
    }
  }
}

std::span<const std::int32_t> MappedFeatureFile::ids(const FeatureRecord& feature) const {
  return {reinterpret_cast<const std::int32_t*>(bytes_ + feature.position), static_cast<std::size_t>(feature.tokens)};
}

std::span<const TokenOffset> MappedFeatureFile::offsets(const FeatureRecord& feature) const {
  const std::byte* at = bytes_ + feature.position + 4 * static_cast<std::size_t>(feature.tokens);
  return {reinterpret_cast<const TokenOffset*>(at), static_cast<std::size_t>(feature.tokens)};
}

std::string_view MappedFeatureFile::text(std::uint64_t position, std::uint32_t bytes) const {
  return {reinterpret_cast<const char*>(bytes_ + position), bytes};
}

}  // namespace hpcbench::train
