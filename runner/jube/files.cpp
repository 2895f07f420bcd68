#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "jube/decks.hpp"
#include "jube/filesets.hpp"
#include "jube/steps.hpp"

namespace hpcbench {

namespace {

namespace jube_fs = std::filesystem;

struct CopiedFile {
  std::string from;       // relative to the JUBE file
  std::string to;         // relative to the run's folder
  bool is_input = false;  // of a substitution, which alone reads it
};

class FileWriter {
 public:
  FileWriter(const JubeParameters& parameters, const JubeRequest& request, const JubeFiles& files, Draft& draft,
             JubeDecks& decks)
      : parameters_(parameters), request_(request), files_(files), draft_(draft), decks_(decks) {}

  void add_fileset(const JubeNode& set) {
    for (const JubeNode& node : set.children) {
      if (!is_active(node, parameters_, "files", draft_)) continue;
      if (node.tag == "copy") {
        add_copy(node);
      } else if (node.tag == "link") {
        const auto fill = [&](const std::string& text) { return filled(text, node); };
        for_each_file(node, fill, [&](const std::string& from, const std::string& to) { bring(node, "ln -s", from, to); });
      } else if (node.tag == "prepare") {
        result_.inside += script_of_prepare(node, "{{run_dir}}", parameters_, "command", draft_);
      }
    }
  }

  void add_substitutes(const JubeNode& set) {
    for (const JubeNode* file : set.all("iofile")) {
      const std::optional<std::string> in = parameters_.constant(file->attribute("in"));
      const std::optional<std::string> out = parameters_.constant(file->attribute("out"));
      if (!in || !out || leaves_folder(*out)) {
        note(*file, fmt::format("FILL IN files: the names of `{}` depend on parameters or leave the run's folder",
                                file->attribute("in")));
        continue;
      }
      const auto copied = std::find_if(copies_.begin(), copies_.end(), [&](const CopiedFile& each) { return each.to == *in; });
      const std::optional<std::string> text = files_(copied == copies_.end() ? parameters_.beside(*in) : copied->from);
      if (copied != copies_.end()) copied->is_input = true;
      if (!text || !is_utf8(*text)) {
        note(*file, fmt::format("FILL IN files: `{}` cannot be read as a text: put {{{{name}}}} where values belong, then "
                                "`{{from: {}, to: {}}}`",
                                *in, *in, *out));
        continue;
      }
      const std::string filled = decks_.with_placeholders(*text, set);
      if (const auto known = made_.find(*out); known != made_.end()) {  // JUBE overwrites the file, or appends to it
        decks_.rewrite(known->second, filled, file->attribute("out_mode") == "a");
        continue;
      }
      const std::string deck = decks_.add(*out, filled);
      made_[*out] = deck;
      draft_.lists["files"].push_back(fmt::format("{{from: {}, to: {}}}", json_quote(deck), json_quote(*out)));
    }
  }

  void write_copies() {
    const jube_fs::path folder = jube_fs::path(request_.path).parent_path();
    for (const CopiedFile& copy : copies_) {
      if (copy.is_input) continue;
      draft_.lists["files"].push_back(
          fmt::format("{{from: {}, to: {}}}", json_quote((folder / copy.from).string()), json_quote(copy.to)));
    }
  }

  StepFiles take() { return std::move(result_); }

 private:
  /// Brings a file by a line of the command.
  void bring(const JubeNode& node, const std::string& by, const std::string& name, const std::string& to) {
    const std::string from = parameters_.beside(name);
    const bool is_whole = node.attribute("rel_path_ref") == "internal" || from.starts_with('/') || from.starts_with("{{");
    const std::string folder = jube_fs::path(to).parent_path().string();
    const bool leaves = has_glob(from) ? !folder.empty() && leaves_folder(folder) : leaves_folder(to);
    if (leaves || from.find('$') != std::string::npos) {
      note(node, fmt::format("FILL IN the command: `{}` does not get to `{}`: write what brings it", from, to));
      return;
    }
    const std::string home =
        is_whole ? "" : "\"" + parameters_.fill("$jube_benchmark_home", node.place, "command", draft_) + "\"/";
    if (!folder.empty()) result_.inside += fmt::format("mkdir -p {}\n", shell_word(folder));
    const std::string into = has_glob(from) ? (folder.empty() ? "." : folder) : to;
    result_.inside += fmt::format("{} {}{} {}\n", by, home, shell_word(from), shell_word(into));
  }

  void note(const JubeNode& node, const std::string& message) { draft_.note(node.place, "files", message); }

  /// Returns the text with placeholders only where a name differs between points.
  std::string filled(const std::string& text, const JubeNode& node) {
    const std::optional<std::string> plain = parameters_.constant(text);
    return plain ? *plain : parameters_.fill(text, node.place, "files", draft_);
  }

  void add_copy(const JubeNode& node) {
    const auto fill = [&](const std::string& text) { return filled(text, node); };
    for_each_file(node, fill, [&](const std::string& name, const std::string& to) {
      const std::string from = parameters_.beside(name);
      const bool varies = from.find("{{") != std::string::npos;
      const std::optional<std::string> text = varies ? std::nullopt : files_(from);
      if (leaves_folder(to) || node.attribute("rel_path_ref") == "internal" || (!varies && (!text || !is_utf8(*text)))) {
        bring(node, "cp -r", name, to);
      } else {
        copies_.push_back({from, to, false});
      }
    });
  }

  const JubeParameters& parameters_;
  const JubeRequest& request_;
  const JubeFiles& files_;
  Draft& draft_;
  JubeDecks& decks_;
  std::vector<CopiedFile> copies_;
  StepFiles result_;
  std::map<std::string, std::string> made_;  // file of a substitution: its deck
};

}  // namespace

StepFiles write_files(const std::vector<const JubeNode*>& sets, const JubeParameters& parameters, const JubeRequest& request,
                      const JubeFiles& files, Draft& draft, JubeDecks& decks) {
  FileWriter writer(parameters, request, files, draft, decks);
  add_file_sets(sets, writer);
  writer.write_copies();
  return writer.take();
}

}  // namespace hpcbench
