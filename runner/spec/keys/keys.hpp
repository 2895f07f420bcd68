#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// What the value of a key is. `check` reads it by this, and the JSON Schemas say it to editors.
enum class KeyKind {
  text,              // any single value
  filled_text,       // one that is not empty
  plain_name,        // of a file or folder
  identifier,        // letters, digits and `_`
  flag,              // true or false
  integer,           // from `least` to `most`
  integers,          // a list of such
  integer_or_map,    // such a one, or a map of the keys of `section`
  number,            // a finite one
  duration,          // "02:00:00", 2h, 90m, 45s, or minutes
  duration_or_0,     // the same, or 0
  choice,            // one of `words`
  texts,             // a list with one text at least
  texts_or_none,     // the same, or []
  text_or_texts,     // a text, or a list of them
  line_or_texts,     // a command: a list of arguments; with `shell: true` a text
  map,               // of the keys of `section`
  maps,              // a list of such maps
  maps_or_none,      // the same, or []
  map_or_text,       // such a map, or a text
  maps_or_texts,     // a list of such maps and texts
  named_maps,        // name: such a map; or a list of arguments
  overlays,          // name: a map of the keys of the file itself
  axes,              // axis: list of values, or a range
  zipped_axes,       // a list of such maps
  points,            // a list of axis: value
  values,            // name: value
  texts_by_name,     // name: text
  expression,        // a text that is one
  expressions,       // one, or a list of them
  condition,         // axis: value or list of values; or an expression
  conditions,        // a list of these
  point,             // axis: value
  point_or_sources,  // axis: value, or a map of the keys of `section`
  texts_or_sources,  // name: text, or such a map
  text_or_sources,   // a text, or name: text or such a map
  choice_or_map,     // one of `words`, or such a map
  percentage,        // -5 %
  refused,           // known, and refused with advice
};

struct KeySection;

/// One key of a map.
struct KeyRow {
  std::string_view name;
  KeyKind kind;
  std::string_view about;               // for a person, one line
  std::string_view initial = {};        // the default, in words; empty: none
  bool required = false;                // check says so in words of its own
  bool fillable = false;                // a text with placeholders may stand in its place
  long long least = 0, most = 0;        // of an integer
  std::vector<std::string> words = {};  // of a choice; else what may stand in place of the value
  const KeySection& (*section)() = nullptr;
};

/// The keys that a map may have, in the order in which help shows them.
struct KeySection {
  std::string_view name;  // for messages of ours and definitions of a schema
  std::vector<KeyRow> keys;

  /// Null if there is no such key.
  const KeyRow* find(std::string_view key) const;
};

/// Those of the experiment file, of a site file, and of the maps inside of them.
const KeySection& experiment_keys();
const KeySection& site_keys();
const KeySection& site_limits_keys();
const KeySection& batch_system_keys();
const KeySection& repeats_keys();
const KeySection& range_keys();
const KeySection& budget_keys();
const KeySection& allocation_keys();
const KeySection& seed_keys();
const KeySection& retries_keys();
const KeySection& continue_keys();
const KeySection& limits_keys();
const KeySection& resources_keys();
const KeySection& success_keys();
const KeySection& override_keys();
const KeySection& container_keys();
const KeySection& deck_keys();
const KeySection& preparation_keys();
const KeySection& metric_keys();
const KeySection& report_keys();
const KeySection& reference_keys();
const KeySection& import_keys();
const KeySection& text_source_keys();
const KeySection& unit_column_keys();
const KeySection& import_outcome_keys();

}  // namespace hpcbench
