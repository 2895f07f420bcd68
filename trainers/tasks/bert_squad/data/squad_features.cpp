#include "tasks/bert_squad/data/squad_features.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "base/error.hpp"
#include "base/text.hpp"
#include "tasks/bert_squad/data/cache_folder.hpp"
#include "tasks/bert_squad/data/feature_file.hpp"
#include "tasks/bert_squad/data/feature_maker.hpp"

namespace hpcbench::train {

struct SquadFeatures::Mapping {
  std::unique_ptr<MappedFeatureFile> file;
  bool was_cached = false;
  std::optional<std::string> note;
};

namespace {

constexpr int kLongestWindow = 1 << 20;

void check_feature_request(const FeatureRequest& request) {
  if (request.max_length < 4 || request.max_length > kLongestWindow)
    throw InputError(concat("error: max_length is ", request.max_length, "; it must be from 4 to ", kLongestWindow));
  if (request.doc_stride < 0 || request.doc_stride > request.max_length - 4) {
    throw InputError(concat("error: doc_stride is ", request.doc_stride,
                            ", the tokens that neighbouring windows share; with max_length ", request.max_length,
                            " it must be from 0 to ", request.max_length - 4));
  }
  if (request.max_features && *request.max_features < 1)
    throw InputError(concat("error: at most ", *request.max_features, " features are requested; it must be at least 1"));
  if (request.threads < 1 || request.threads > 4096)
    throw InputError(concat("error: features in ", request.threads, " threads are requested; it must be from 1 to 4096"));
}

struct FileContent {
  std::int64_t bytes = 0;
  ContentHash::Digest digest{};
};

FileContent content_of(const std::filesystem::path& path) {
  const auto fail = [&](int number) {
    throw DataError(concat("error: ", path.string(), " cannot be read: ", std::strerror(number)));
  };
  const OwnedDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor) fail(errno);
  std::vector<std::byte> buffer(1U << 18U);
  FileContent content;
  ContentHash hash;
  while (true) {
    const ssize_t got = ::read(descriptor.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno);
    if (got == 0) break;
    content.bytes += got;
    hash.add({buffer.data(), static_cast<std::size_t>(got)});
  }
  content.digest = hash.digest();
  return content;
}

ContentHash::Digest cache_key(const FeatureRequest& request, const FileContent& data, const FileContent& vocabulary) {
  ContentHash hash;
  hash.add_number(kFeatureFormat);
  for (const FileContent* content : {&data, &vocabulary}) {
    hash.add_number(content->bytes);
    hash.add(std::as_bytes(std::span(content->digest)));
  }
  for (const std::int64_t setting : {std::int64_t{request.cased}, std::int64_t{request.max_length},
                                     std::int64_t{request.doc_stride}, request.max_features.value_or(-1)})
    hash.add_number(setting);
  return hash.digest();
}

struct CacheLookup {
  std::unique_ptr<MappedFeatureFile> file;
  std::string damage;  // why an existing file cannot be used
};

CacheLookup look_up(const std::filesystem::path& path, const ContentHash::Digest& key) {
  const OwnedDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor) return {};
  try {
    return {std::make_unique<MappedFeatureFile>(descriptor.get(), key), ""};
  } catch (const FeatureFileError& error) {
    return {nullptr, error.what()};
  }
}

/// Makes the features in a file without a name. An error in the user's text would be the same in every place, so only a
/// FeatureFileError justifies another place.
std::unique_ptr<MappedFeatureFile> make_without_cache(const FeatureRequest& request, const Vocabulary& vocabulary,
                                                      const FileContent& data, const ContentHash::Digest& key) {
  try {
    const OwnedDescriptor descriptor = anonymous_file();
    make_features(request, vocabulary, data.digest, key, descriptor.get());
    return std::make_unique<MappedFeatureFile>(descriptor.get(), key);
  } catch (const FeatureFileError& error) {
    throw DataError(concat("error: the features of ", request.data.string(), " cannot be kept, neither in ",
                           request.cache_folder.string(), " nor in a temporary file: ", error.what()));
  }
}

}  // namespace

std::filesystem::path default_cache_folder() {
  const auto variable = [](const char* name) -> std::filesystem::path {
    const char* const value = std::getenv(name);
    return value && value[0] == '/' ? value : "";
  };
  if (const auto folder = variable("XDG_CACHE_HOME"); !folder.empty()) return folder / "hpcbench";
  if (const auto folder = variable("HOME"); !folder.empty()) return folder / ".cache" / "hpcbench";
  std::error_code none;
  const auto folder = std::filesystem::temp_directory_path(none);
  return (none ? "/tmp" : folder) / concat("hpcbench-", ::getuid());
}

SquadFeatures SquadFeatures::open(const FeatureRequest& request) {
  check_feature_request(request);
  const FileContent data = content_of(request.data);
  const FileContent vocabulary_content = content_of(request.vocabulary);
  const ContentHash::Digest key = cache_key(request, data, vocabulary_content);
  const std::filesystem::path path = request.cache_folder / ("squad-features-" + hex_of(key) + ".bin");
  auto mapping = std::make_unique<Mapping>();
  const auto cached = [&](CacheLookup found) {
    mapping->file = std::move(found.file);
    mapping->was_cached = true;
    return SquadFeatures(std::move(mapping));
  };
  if (CacheLookup found = look_up(path, key); found.file) return cached(std::move(found));

  const Vocabulary vocabulary = Vocabulary::read(request.vocabulary);
  std::error_code no_folder;
  std::filesystem::create_directories(request.cache_folder, no_folder);
  try {
    if (no_folder) throw FeatureFileError(no_folder.message());
    const CacheLock lock(path);
    CacheLookup found = look_up(path, key);  // another process may have made it while this one waited for the lock
    if (found.file) return cached(std::move(found));
    if (!found.damage.empty())
      mapping->note = concat("the feature cache ", path.string(), " was damaged (", found.damage, ") and has been made again");
    FileInTheMaking file(path);
    make_features(request, vocabulary, data.digest, key, file.descriptor());
    mapping->file = std::make_unique<MappedFeatureFile>(file.descriptor(), key);
    file.publish();
  } catch (const FeatureFileError& error) {
    if (!mapping->file) mapping->file = make_without_cache(request, vocabulary, data, key);
    mapping->note = concat("the features are not kept for the next time: the cache folder ", request.cache_folder.string(),
                           " cannot be used: ", error.what());
  }
  return SquadFeatures(std::move(mapping));
}

SquadFeatures::SquadFeatures(std::unique_ptr<Mapping> mapping) : mapping_(std::move(mapping)) {}
SquadFeatures::~SquadFeatures() = default;
SquadFeatures::SquadFeatures(SquadFeatures&&) noexcept = default;
SquadFeatures& SquadFeatures::operator=(SquadFeatures&&) noexcept = default;

std::int64_t SquadFeatures::size() const { return static_cast<std::int64_t>(mapping_->file->features().size()); }

Feature SquadFeatures::operator[](std::int64_t index) const {
  if (index < 0 || index >= size()) throw std::out_of_range(concat("there is no feature ", index, " of ", size()));
  const FeatureRecord& record = mapping_->file->features()[static_cast<std::size_t>(index)];
  return {record.question,       mapping_->file->ids(record), record.context_begin, mapping_->file->offsets(record),
          record.start_position, record.end_position};
}

std::int64_t SquadFeatures::questions() const { return static_cast<std::int64_t>(mapping_->file->questions().size()); }

Question SquadFeatures::question(std::int64_t index) const {
  if (index < 0 || index >= questions()) throw std::out_of_range(concat("there is no question ", index, " of ", questions()));
  const QuestionRecord& record = mapping_->file->questions()[static_cast<std::size_t>(index)];
  Question question;
  question.id = mapping_->file->text(record.id_position, record.id_bytes);
  question.context = mapping_->file->text(record.context_position, record.context_bytes);
  for (const AnswerRecord& answer : mapping_->file->answers().subspan(static_cast<std::size_t>(record.first_answer),
                                                                      static_cast<std::size_t>(record.answers)))
    question.answers.push_back(question.context.substr(answer.begin, answer.bytes));
  question.first_feature = record.first_feature;
  question.features = record.features;
  return question;
}

std::int64_t SquadFeatures::vocabulary_size() const { return mapping_->file->facts().vocabulary_size; }
std::int32_t SquadFeatures::padding_id() const { return mapping_->file->facts().padding_id; }
bool SquadFeatures::has_unanswerable() const { return mapping_->file->facts().has_unanswerable != 0; }
bool SquadFeatures::was_cached() const { return mapping_->was_cached; }
const std::optional<std::string>& SquadFeatures::note() const { return mapping_->note; }

}  // namespace hpcbench::train
