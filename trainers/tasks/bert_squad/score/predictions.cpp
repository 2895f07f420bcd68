#include "tasks/bert_squad/score/predictions.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "files/atomic_file.hpp"
#include "files/json_text.hpp"

namespace hpcbench::train {

namespace {

/// Reads one object that contains only strings.
class PredictionReader {
 public:
  using json = nlohmann::json;

  explicit PredictionReader(const std::string& file) : file_(file) {}

  bool null() { return wrong("null"); }
  bool boolean(bool) { return wrong("true or false"); }
  bool number_integer(json::number_integer_t) { return wrong("a number"); }
  bool number_unsigned(json::number_unsigned_t) { return wrong("a number"); }
  bool number_float(json::number_float_t, const json::string_t&) { return wrong("a number"); }
  bool binary(json::binary_t&) { return wrong("binary data"); }
  bool start_array(std::size_t) { return wrong("a list"); }
  bool end_array() { return true; }

  bool string(std::string& value) {
    if (!inside_) return wrong("a string");
    texts_[id_] = std::move(value);
    return true;
  }

  bool start_object(std::size_t) {
    if (inside_) return wrong("an object");
    inside_ = true;
    return true;
  }

  bool key(std::string& value) {
    id_ = std::move(value);
    return true;
  }

  bool end_object() { return true; }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    error_position_ = position;
    return false;
  }

  std::size_t error_position() const { return error_position_; }
  std::unordered_map<std::string, std::string> take() { return std::move(texts_); }

 private:
  [[noreturn]] bool wrong(const char* what) const {
    if (!inside_) throw DataError(concat("error: ", file_, " holds ", what, ", not an object of question ids and texts"));
    throw DataError(concat("error: ", file_, " has ", what, " as prediction of question `", id_, "`, not a string"));
  }

  const std::string& file_;
  std::unordered_map<std::string, std::string> texts_;
  std::string id_;
  bool inside_ = false;
  std::size_t error_position_ = 0;
};

std::string ascii_json(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::unordered_map<std::string, std::string> read_predictions(const std::filesystem::path& path) {
  const std::string text = read_json_text(path);
  const std::string file = path.string();
  PredictionReader reader(file);
  if (!nlohmann::json::sax_parse(text, &reader)) fail_as_broken_json(path, text, reader.error_position());
  return reader.take();
}

void write_predictions(const std::filesystem::path& path, std::span<const std::pair<std::string, std::string>> predictions) {
  std::string text = "{";
  for (const auto& [id, answer] : predictions) {
    text += text.size() > 1 ? ",\n    " : "\n    ";
    text += ascii_json(id) + ": " + ascii_json(answer);
  }
  text += predictions.empty() ? "}\n" : "\n}\n";
  write_atomically(path, text);
}

}  // namespace hpcbench::train
