#include "tasks/bert_squad/data/paragraph_encoder.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "tasks/bert_squad/data/windows.hpp"
#include "tasks/bert_squad/text/utf8.hpp"

namespace hpcbench::train {

namespace {

/// Returns the text without the white space that Python's lstrip() removes.
std::string_view left_stripped(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    std::size_t next = position;
    const auto code_point = next_code_point(text, next);
    if (!code_point || !is_lstrip_space(*code_point)) break;
    position = next;
  }
  return text.substr(position);
}

/// Returns at most `count` code points of a text, on one line, for a message.
std::string shortened(std::string_view text, int count) {
  std::size_t position = 0;
  for (int i = 0; i < count && position < text.size(); ++i) {
    if (!next_code_point(text, position)) break;
  }
  std::string shown(text.substr(0, position));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return shown + (position < text.size() ? "..." : "");
}

}  // namespace

std::uint64_t FeatureBlock::append(const void* data, std::size_t size) {
  bytes.resize((bytes.size() + 3) / 4 * 4);
  const std::size_t position = bytes.size();
  const auto* begin = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), begin, begin + size);
  return position;
}

ParagraphEncoder::ParagraphEncoder(const EncoderSettings& settings, const Vocabulary& vocabulary)
    : settings_(settings),
      tokenizer_(vocabulary, settings.cased),
      begin_id_(vocabulary.find("[CLS]").value()),
      separator_id_(vocabulary.find("[SEP]").value()) {}

void ParagraphEncoder::fail(const SquadQuestion& question, const std::string& what) const {
  throw DataError(concat("error: ", settings_.data.string(), ":", question.place.line, ":", question.place.column,
                         ": question ", question.id, " (", question.path, "): ", what));
}

void ParagraphEncoder::encode(const SquadParagraph& paragraph, FeatureBlock& block) {
  encode_context(paragraph);
  const std::uint64_t position = block.append(paragraph.context.data(), paragraph.context.size());
  for (const SquadQuestion& question : paragraph.questions) {
    QuestionRecord record;
    record.context_position = position;
    record.context_bytes = static_cast<std::uint32_t>(paragraph.context.size());
    record.id_position = block.append(question.id.data(), question.id.size());
    record.id_bytes = static_cast<std::uint32_t>(question.id.size());
    record.first_answer = static_cast<std::int64_t>(block.tables.answers.size());
    record.answers = static_cast<std::int64_t>(question.answers.size());
    for (const SquadAnswer& answer : question.answers) block.tables.answers.push_back(locate(paragraph, question, answer));
    record.first_feature = static_cast<std::int64_t>(block.tables.features.size());
    encode_question(question, block);
    record.features = static_cast<std::int64_t>(block.tables.features.size()) - record.first_feature;
    block.tables.questions.push_back(record);
    block.has_answers |= question.has_answers;
    block.has_unanswerable |= question.has_answers && question.answers.empty();
  }
}

void ParagraphEncoder::encode_context(const SquadParagraph& paragraph) {
  if (paragraph.context.empty()) {
    throw DataError(concat("error: ", settings_.data.string(), ":", paragraph.place.line, ":", paragraph.place.column,
                           ": the context of ", paragraph.path, " is empty"));
  }
  context_.ids.clear();
  context_.offsets.clear();
  tokenizer_.encode(paragraph.context, context_);
  context_characters_ = count_code_points(paragraph.context);
  context_bytes_.clear();
  if (context_characters_ == static_cast<std::int64_t>(paragraph.context.size())) return;
  for (std::size_t i = 0; i < paragraph.context.size(); ++i) {
    if ((static_cast<unsigned char>(paragraph.context[i]) & 0xc0U) != 0x80)
      context_bytes_.push_back(static_cast<std::uint32_t>(i));
  }
  context_bytes_.push_back(static_cast<std::uint32_t>(paragraph.context.size()));
}

std::uint32_t ParagraphEncoder::byte_of(std::int64_t code_point) const {
  return context_bytes_.empty() ? static_cast<std::uint32_t>(code_point) : context_bytes_[static_cast<std::size_t>(code_point)];
}

AnswerRecord ParagraphEncoder::locate(const SquadParagraph& paragraph, const SquadQuestion& question,
                                      const SquadAnswer& answer) const {
  const std::string shown = "the answer `" + shortened(answer.text, 60) + "`";
  if (answer.text.empty()) fail(question, "an answer is empty; a question without an answer has an empty array \"answers\"");
  if (answer.start < 0 || answer.start >= context_characters_)
    fail(question, concat(shown, " begins at character ", answer.start, ", but its context has ", context_characters_));
  const std::uint32_t begin = byte_of(answer.start);
  const std::string_view rest = std::string_view(paragraph.context).substr(begin);
  if (!rest.starts_with(answer.text)) {
    fail(question, concat(shown, " does not stand at character ", answer.start, " of its context, where `", shortened(rest, 30),
                          "` stands"));
  }
  return {begin, static_cast<std::uint32_t>(answer.text.size())};
}

std::int32_t ParagraphEncoder::room_for_context(const SquadQuestion& question) const {
  const auto size = static_cast<std::int32_t>(question_.ids.size());
  const std::int32_t room = settings_.max_length - 3 - size;
  if (static_cast<std::int64_t>(context_.ids.size()) <= room) return room;
  if (room <= settings_.doc_stride) {
    fail(question, concat("the question has ", size, " tokens: of a window of ", settings_.max_length, " it leaves ",
                          room > 0 ? room : 0, " to the context, which must be more than the ", settings_.doc_stride,
                          " that windows share (doc_stride); a larger max_length helps"));
  }
  return room;
}

void ParagraphEncoder::encode_question(const SquadQuestion& question, FeatureBlock& block) {
  if (context_.ids.empty() && !question.answers.empty()) fail(question, "its context holds no token, so no answer either");
  question_.ids.clear();
  question_.offsets.clear();
  tokenizer_.encode(left_stripped(question.text), question_);
  const std::int32_t room = room_for_context(question);
  const auto tokens = static_cast<std::int32_t>(context_.ids.size());
  const auto context_begin = static_cast<std::int32_t>(question_.ids.size()) + 2;
  for (const TokenWindow& window : context_windows(tokens, room, settings_.doc_stride)) {
    assemble(window.begin, window.end);
    AnswerPosition position;
    if (!question.answers.empty()) {
      const SquadAnswer& answer = question.answers.front();
      position = answer_position(offsets_, context_begin, answer.start, answer.start + count_code_points(answer.text));
    }
    FeatureRecord record;
    record.position = block.append(ids_.data(), ids_.size() * sizeof(std::int32_t));
    block.append(offsets_.data(), offsets_.size() * sizeof(TokenOffset));
    record.question = static_cast<std::int32_t>(block.tables.questions.size());
    record.tokens = static_cast<std::int32_t>(ids_.size());
    record.context_begin = context_begin;
    record.start_position = position.start;
    record.end_position = position.end;
    block.tables.features.push_back(record);
  }
}

/// Assembles [CLS] question [SEP] tokens [begin, end) of the context [SEP].
void ParagraphEncoder::assemble(std::int32_t begin, std::int32_t end) {
  const auto join = [&](auto& target, const auto& question, const auto& context, auto first, auto separator) {
    target.clear();
    target.push_back(first);
    target.insert(target.end(), question.begin(), question.end());
    target.push_back(separator);
    target.insert(target.end(), context.begin() + begin, context.begin() + end);
    target.push_back(separator);
  };
  join(ids_, question_.ids, context_.ids, begin_id_, separator_id_);
  join(offsets_, question_.offsets, context_.offsets, TokenOffset{}, TokenOffset{});
}

}  // namespace hpcbench::train
