#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/place.hpp"

namespace hpcbench {

class Diagnostics;

/// A text that values come from: an experiment file, a site, one `--set`. Nodes point into it: it stays where it is.
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
  /// The line that holds `offset`, without its end; `begin` is set to its offset.
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
/// `file:line:column`.
std::string describe_place(const SourceLocation& location);

struct YamlKey {
  std::string name;
  SourceLocation location;
};

/// A value of YAML as hpcbench has it: no aliases, tags or duplicate keys.
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
  /// Index of a key of a map, or npos.
  std::size_t index_of(std::string_view key) const;
  const YamlNode* find(std::string_view key) const;

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
};

/// InputError for bytes that no file of ours may have: bad UTF-8, control characters, more than 1 MB.
void check_bytes(const YamlSource& source);

/// Reads the one document of a source. What is no YAML, or YAML that hpcbench does not take (aliases, tags, a second
/// document, bad UTF-8, more than 1 MB, nesting deeper than 100), is an InputError with its place; duplicate keys are
/// diagnostics.
YamlNode parse_yaml(const YamlSource& source, Diagnostics& diagnostics);

}  // namespace hpcbench
