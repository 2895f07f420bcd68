#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench::train {

/// The word pieces of a vocab.txt: one per line, whose id is the number of the line from 0; of a duplicate piece the last
/// counts. A piece within a word begins with "##". Stored as a trie of bytes.
class Vocabulary {
 public:
  /// DataError names file and line: no such file, a line that is no UTF-8, no [CLS], [SEP] or [UNK].
  static Vocabulary read(const std::filesystem::path& path);
  static Vocabulary of(const std::vector<std::string>& pieces);

  std::int64_t size() const { return size_; }
  std::optional<std::int32_t> find(std::string_view piece) const;

  struct Match {
    std::int32_t id = -1;   // -1: none
    std::size_t bytes = 0;  // matched bytes of the text
  };
  /// Returns the longest piece with which the text begins; `continuing`: among the pieces that begin with "##", which is
  /// omitted here.
  Match longest(std::string_view text, bool continuing) const;

 private:
  struct Edge {
    std::uint32_t key = 0;  // node * 256 + byte + 1; 0: free
    std::uint32_t child = 0;
  };
  void add(std::string_view piece, std::int32_t id);
  std::uint32_t child(std::uint32_t node, unsigned char byte) const;  // 0: none
  std::uint32_t child_made(std::uint32_t node, unsigned char byte);
  std::size_t slot(std::uint32_t key) const;
  void grow();

  std::int64_t size_ = 0;
  std::vector<std::int32_t> ids_ = {-1};  // of the piece that ends at each node
  std::vector<Edge> edges_ = std::vector<Edge>(1U << 18);
  std::uint32_t continuing_ = 0;  // the node of "##"; 0: no such pieces
};

}  // namespace hpcbench::train
