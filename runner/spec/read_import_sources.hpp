#pragma once

#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"

namespace hpcbench {

// Parts of an entry of `import` that name where texts about each run are found.

/// `run`: constants, and sources of axes.
void read_import_run(MapReader& reader, ParsedImport& parsed, Diagnostics& diagnostics);
/// `facts`: texts, and sources of texts.
void read_import_facts(MapReader& reader, Import& import, Diagnostics& diagnostics);
/// `outcome`: a word, or the source of the program's word and what its words mean.
void read_import_outcome(MapReader& reader, Import& import, Diagnostics& diagnostics);
/// `columns`, `rows`, `query`, `where` and `take`, which tables have.
void read_import_table(MapReader& reader, Import& import, Diagnostics& diagnostics);
/// The heading of the column that gives `name`; a diagnostic where it gives another one already.
void map_heading(Import& import, const std::string& name, const std::string& heading, const SourceLocation& location,
                 Diagnostics& diagnostics);

}  // namespace hpcbench
