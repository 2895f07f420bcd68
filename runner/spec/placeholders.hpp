#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.hpp"
#include "spec/experiment.hpp"
#include "yaml/diagnostics.hpp"
#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// A `{{name}}` of a text: `offset` is that of its first brace, `name` what stands between the braces without blanks.
struct Placeholder {
  std::string name;
  std::size_t offset = 0;
  bool spread = false;  // `{{*name}}`: a list's arguments. Where nothing has that name it is plain text
};

/// The placeholders of a text, from left to right. Braces around anything but a name (letters, digits, `_`, and `-` and `.`
/// inside, which no name can hold and which are therefore undefined) are plain text: `{{.ID}}`, `{{}}`.
std::vector<Placeholder> find_placeholders(std::string_view text);

/// Whether a text is one placeholder and nothing else.
bool is_one_placeholder(std::string_view text);

/// Where a placeholder of `text`, which was read from `node`, stands in the file.
SourceLocation location_of_placeholder(const YamlNode& node, const std::string& text, const Placeholder& placeholder);

/// Complains about each placeholder of a text that is used as it is; true if there is one. `what` names it in messages.
bool refuse_placeholders(const YamlNode& node, const std::string& text, const std::string& what, const std::string& advice,
                         Diagnostics& diagnostics);

/// The same for the texts, or lists of texts, at some keys of the map `what` (empty: the whole file). What is no text is
/// skipped.
void refuse_placeholders_in(const YamlNode& map, std::initializer_list<std::string_view> keys, std::string_view what,
                            const std::string& advice, Diagnostics& diagnostics);
/// What to write instead of a module's name with a placeholder.
inline constexpr const char* kModulesAdvice = "say it in the experiment: modules: [\"cuda/{{version}}\"]";

/// The texts of a work in which placeholders are filled in for each run: the command, the set-up lines, the variables, the
/// options of srun, the container.
std::vector<const std::string*> texts_of_run(const Work& work);
/// Those that are filled in for each point: resources, partition, modules, the names of input decks.
std::vector<const std::string*> texts_of_point(const Work& work);

/// Names that any of these texts use and that are
/// neither built in, nor its parameters, nor its axes; each once, in the order of their first use. For a point whose overrides
/// are applied. `{{*name}}` counts where `declared` has the name: overrides of other points give it a value.
std::vector<std::string> undefined_placeholders(const Work& work, const Bindings& axes,
                                                const std::vector<std::string>& declared = {});

}  // namespace hpcbench
