#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/place.hpp"

namespace hpcbench {

class Diagnostics;

/// The source text of values: an experiment file, a site, one `--set`. Nodes point into it, so it must not move.
class YamlSource : public std::enable_shared_from_this<YamlSource> {
 public:
  /// `yaml_begin`: where the YAML starts (after `a.b=` of a `--set`). The byte order mark of a file is dropped.
  YamlSource(std::string name, std::string text, std::size_t yaml_begin = 0);
  YamlSource(const YamlSource&) = delete;
  YamlSource& operator=(const YamlSource&) = delete;

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  std::size_t yaml_begin() const { return yaml_begin_; }
  Place place(std::size_t offset) const;
  /// Returns the line that contains `offset`, without its end, and sets `begin` to the line's offset.
  std::string_view line_at(std::size_t offset, std::size_t* begin) const;

 private:
  std::string name_;
  std::string text_;
  std::size_t yaml_begin_;
  std::vector<std::size_t> line_begins_;
};

/// A byte of a source.
struct SourceLocation {
  const YamlSource* source = nullptr;
  std::size_t offset = 0;

  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

Place place_of(const SourceLocation& location);
/// Returns `file:line:column`.
std::string describe_place(const SourceLocation& location);

struct YamlKey {
  std::string name;
  SourceLocation location;
};

/// A value of YAML in the subset that hpcbench accepts: no aliases, tags or duplicate keys.
struct YamlNode {
  enum class Kind { absent, scalar, list, map };
  Kind kind = Kind::absent;     // absent: nothing, `~` or `null`
  bool quoted = false;          // 'x', "x", and block texts
  std::string text;             // of a scalar
  std::vector<YamlKey> keys;    // of a map: keys[i] belongs to items[i]
  std::vector<YamlNode> items;  // of a list or a map
  SourceLocation location;

  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_list() const { return kind == Kind::list; }
  bool is_map() const { return kind == Kind::map; }
  /// Returns the index of a key of a map, or npos.
  std::size_t index_of(std::string_view key) const;
  const YamlNode* find(std::string_view key) const;

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
};

/// InputError for bytes that are allowed in no file: bad UTF-8, control characters, more than 1 MB.
void check_bytes(const YamlSource& source);

/// Reads the one document of a source. InputError with its place for invalid YAML and for YAML that hpcbench does not
/// accept (aliases, tags, a second document, bad UTF-8, more than 1 MB, nesting deeper than 100); duplicate keys are
/// diagnostics.
YamlNode parse_yaml(const YamlSource& source, Diagnostics& diagnostics);

}  // namespace hpcbench
