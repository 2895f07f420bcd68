#include "tasks/bert_squad/text/vocabulary.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "tasks/bert_squad/text/utf8.hpp"

namespace hpcbench::train {

namespace {

constexpr std::size_t kMostPieces = 4'000'000;  // edges are keyed by 24 bits of node
constexpr std::uint32_t kMostNodes = 1U << 24U;

}  // namespace

Vocabulary Vocabulary::read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw DataError(concat("error: the vocabulary ", path.string(), " cannot be read: ", std::strerror(errno)));
  std::vector<std::string> pieces;
  std::string line;
  while (std::getline(file, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (first_invalid_utf8(line))
      throw DataError(concat("error: ", path.string(), ":", pieces.size() + 1, ": this line of the vocabulary is no UTF-8"));
    if (pieces.size() == kMostPieces) throw DataError(concat("error: ", path.string(), " is too large for a vocabulary"));
    pieces.push_back(line);
  }
  if (file.bad()) throw DataError(concat("error: the vocabulary ", path.string(), " cannot be read to its end"));
  try {
    Vocabulary vocabulary = of(pieces);
    for (const char* name : {"[CLS]", "[SEP]", "[UNK]"}) {
      if (!vocabulary.find(name)) {
        throw DataError(concat("error: the vocabulary ", path.string(), " (", pieces.size(), " lines) has no line ", name,
                               "; is it a vocab.txt of BERT?"));
      }
    }
    return vocabulary;
  } catch (const std::length_error&) {
    throw DataError(concat("error: ", path.string(), " is too large for a vocabulary"));
  }
}

Vocabulary Vocabulary::of(const std::vector<std::string>& pieces) {
  Vocabulary vocabulary;
  for (const std::string& piece : pieces) vocabulary.add(piece, static_cast<std::int32_t>(vocabulary.size_++));
  if (const std::uint32_t sharp = vocabulary.child(0, '#')) vocabulary.continuing_ = vocabulary.child(sharp, '#');
  return vocabulary;
}

std::optional<std::int32_t> Vocabulary::find(std::string_view piece) const {
  std::uint32_t node = 0;
  for (const char byte : piece) {
    node = child(node, static_cast<unsigned char>(byte));
    if (node == 0) return std::nullopt;
  }
  return piece.empty() || ids_[node] < 0 ? std::nullopt : std::optional(ids_[node]);
}

Vocabulary::Match Vocabulary::longest(std::string_view text, bool continuing) const {
  Match match;
  if (continuing && continuing_ == 0) return match;
  std::uint32_t node = continuing ? continuing_ : 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    node = child(node, static_cast<unsigned char>(text[i]));
    if (node == 0) break;
    if (ids_[node] >= 0) match = {ids_[node], i + 1};
  }
  return match;
}

void Vocabulary::add(std::string_view piece, std::int32_t id) {
  std::uint32_t node = 0;
  for (const char byte : piece) node = child_made(node, static_cast<unsigned char>(byte));
  if (node != 0) ids_[node] = id;  // an empty line is a piece that occurs in no word
}

std::size_t Vocabulary::slot(std::uint32_t key) const {
  std::size_t index = (key * 0x9e3779b1U) >> 8U & (edges_.size() - 1);
  while (edges_[index].key != 0 && edges_[index].key != key) index = (index + 1) & (edges_.size() - 1);
  return index;
}

std::uint32_t Vocabulary::child(std::uint32_t node, unsigned char byte) const {
  const std::uint32_t key = node << 8U | byte;
  return edges_[slot(key + 1)].child;
}

std::uint32_t Vocabulary::child_made(std::uint32_t node, unsigned char byte) {
  const std::uint32_t key = (node << 8U | byte) + 1;
  std::size_t index = slot(key);
  if (edges_[index].key == 0) {
    if (ids_.size() * 2 > edges_.size()) {
      grow();
      index = slot(key);
    }
    if (ids_.size() >= kMostNodes) throw std::length_error("vocabulary");
    edges_[index] = {key, static_cast<std::uint32_t>(ids_.size())};
    ids_.push_back(-1);
  }
  return edges_[index].child;
}

void Vocabulary::grow() {
  std::vector<Edge> old = std::move(edges_);
  edges_ = std::vector<Edge>(old.size() * 2);
  for (const Edge& edge : old) {
    if (edge.key != 0) edges_[slot(edge.key)] = edge;
  }
}

}  // namespace hpcbench::train
