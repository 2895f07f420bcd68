#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// A part of the JUBE file that the translation cannot express, with its place.
struct JubeNote {
  std::string place;  // `file:line:column`
  std::string message;
  std::string key;  // of the experiment file, which repeats the note there as a comment
};

/// An experiment file under construction: values are already YAML. A value of several lines begins behind its key (`|-`, or
/// nothing for a map below it) and already has its indentation.
struct Draft {
  using Entries = std::vector<std::pair<std::string, std::string>>;

  std::map<std::string, std::string> values;              // key: value
  std::map<std::string, Entries> maps;                    // key: {name: value}
  std::map<std::string, std::vector<std::string>> lists;  // key: [item]
  std::vector<JubeNote> notes;

  void note(const SourceLocation& at, std::string_view key, std::string message);
  /// Replaces the value of an existing name.
  void set(const std::string& key, const std::string& name, const std::string& value);
};

/// Returns a text for hpcbench to fill in, in which JUBE's own braces are no placeholders: for braces `draft` gets a parameter
/// whose value is a brace, because values are never read again.
std::string without_placeholders(const std::string& text, Draft& draft);
/// Appends `placeholder`, a text that begins with one, to `into`.
void append_placeholder(std::string& into, const std::string& placeholder, Draft& draft);

/// Returns the whole text; `profiles` are results of `difference`.
std::string write_draft(const Draft& draft, const std::string& title, const Draft::Entries& profiles);

/// Returns the changes from `base` to `other` as the value of a profile; empty if they are equal.
std::string difference(const Draft& base, const Draft& other);

/// Returns a text in YAML, plain if that reads back as the same text.
std::string yaml_text(const std::string& text);
/// Returns a text in YAML: a block text if it has several lines.
std::string yaml_script(const std::string& text);
std::string yaml_texts(const std::vector<std::string>& texts);

}  // namespace hpcbench
