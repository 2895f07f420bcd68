#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// What a translation cannot say, at its place.
struct JubeNote {
  std::string place;  // `file:line:column`
  std::string message;
  std::string key;  // of the experiment file: there it stands as a comment, too
};

/// An experiment file that is being written: values are YAML already. A value of several lines begins behind its key
/// (`|-`, or nothing for a map below it) and is indented as it is written.
struct Draft {
  using Entries = std::vector<std::pair<std::string, std::string>>;

  std::map<std::string, std::string> values;              // key: value
  std::map<std::string, Entries> maps;                    // key: {name: value}
  std::map<std::string, std::vector<std::string>> lists;  // key: [item]
  std::vector<JubeNote> notes;

  void note(const SourceLocation& at, std::string_view key, std::string message);
  /// Replaces the value of a name that is there.
  void set(const std::string& key, const std::string& name, const std::string& value);
};

/// A text that hpcbench fills in, with nothing of JUBE's own read as a placeholder: where braces could be, `draft` gets a
/// parameter whose value is a brace, for values are never read again.
std::string without_placeholders(const std::string& text, Draft& draft);
/// Puts `placeholder`, a text that begins with one, behind `into`.
void append_placeholder(std::string& into, const std::string& placeholder, Draft& draft);

/// The whole text; `profiles` as `difference` gives them.
std::string write_draft(const Draft& draft, const std::string& title, const Draft::Entries& profiles);

/// What turns `base` into `other`, as the value of a profile; empty if nothing does.
std::string difference(const Draft& base, const Draft& other);

/// A text as YAML has it, plain where that is read as the same text.
std::string yaml_text(const std::string& text);
/// A block text where it has several lines.
std::string yaml_script(const std::string& text);
std::string yaml_texts(const std::vector<std::string>& texts);

}  // namespace hpcbench
