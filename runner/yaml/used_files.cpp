#include "yaml/used_files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "base/error.hpp"
#include "base/files.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

/// Returns the size of a name in its file, in bytes; nullopt if it is written with escapes or over several lines.
std::optional<std::size_t> bytes_of_name(const YamlNode& node) {
  const std::string_view written = std::string_view(node.location.source->text()).substr(node.location.offset);
  if (written.starts_with(node.text)) return node.text.size();
  const bool in_quotes = !written.empty() && (written.front() == '\'' || written.front() == '"');
  const bool as_it_is = in_quotes && written.substr(1).starts_with(node.text) && written.size() > node.text.size() + 1 &&
                        written[node.text.size() + 1] == written.front();
  if (as_it_is) return node.text.size() + 2;
  return std::nullopt;
}

/// Returns why a path cannot be read; empty if it can. Refuses anything but a plain file, because reading it might never end.
std::string trouble_with(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return fmt::format("there is no file {}", path.string());
  return fs::is_regular_file(status) ? "" : fmt::format("{} is no file", path.string());
}

std::optional<UsedFile> read_used_file(const YamlNode& name, Diagnostics& diagnostics) {
  const std::optional<std::size_t> bytes = name.is_scalar() && !name.text.empty() ? bytes_of_name(name) : std::nullopt;
  if (!bytes) {
    diagnostics.add(name.location, "`use` takes names of files, written without escapes", "use: [common.yaml]");
    return std::nullopt;
  }
  const fs::path path = (fs::path(name.location.source->name()).parent_path() / name.text).lexically_normal();
  const std::string trouble = trouble_with(path);
  if (!trouble.empty()) {
    diagnostics.add(name.location, trouble, "a name in `use` is seen from the folder of the file that it stands in");
    return std::nullopt;
  }
  std::string text;
  try {
    text = read_file(path);
  } catch (const UnavailableError&) {
    diagnostics.add(name.location, fmt::format("{} cannot be read", path.string()));
    return std::nullopt;
  }
  UsedFile used{std::make_shared<const YamlSource>(path.string(), std::move(text)), {}, name.location, *bytes};
  diagnostics.know(*used.source);
  used.root = parse_yaml(*used.source, diagnostics);
  if (!used.root.is_map()) {
    diagnostics.add({used.source.get(), 0}, "a used file has keys, as an experiment file has");
  } else if (const std::size_t index = used.root.index_of("use"); index != YamlNode::npos) {
    diagnostics.add(used.root.keys[index].location, "a used file uses no others",
                    "name all of them in the experiment file: use: [first.yaml, second.yaml]");
  }
  return used;  // also with errors in it: diagnostics point into it
}

}  // namespace

std::vector<UsedFile> read_used_files(const YamlNode& use, Diagnostics& diagnostics) {
  std::vector<UsedFile> used;
  if (use.is_list() && use.items.empty()) return used;
  const std::vector<YamlNode> names = use.is_list() ? use.items : std::vector<YamlNode>{use};
  for (const YamlNode& name : names) {
    if (std::optional<UsedFile> file = read_used_file(name, diagnostics)) used.push_back(std::move(*file));
  }
  return used;
}

std::vector<FileCopy> copies_of(const YamlSource& file, const std::vector<UsedFile>& used) {
  std::vector<FileCopy> copies = {{fs::path(file.name()).filename().string(), file.text()}};
  for (std::size_t i = 0; i < used.size(); ++i) {
    const std::string name = fs::path(used[i].source->name()).filename().string();
    copies.push_back({fmt::format("used/{}/{}", i + 1, name), used[i].source->text()});
  }
  for (std::size_t i = used.size(); i-- > 0;) {  // from the end, so that earlier positions stay valid
    // In single quotes every character but the quote is literal.
    std::string quoted = "'";
    for (const char c : copies[i + 1].name) quoted += c == '\'' ? std::string("''") : std::string(1, c);
    copies.front().text.replace(used[i].said.offset, used[i].said_bytes, quoted + "'");
  }
  return copies;
}

}  // namespace hpcbench
