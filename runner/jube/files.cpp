#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "jube/steps.hpp"

namespace hpcbench {

namespace {

namespace jube_fs = std::filesystem;

struct CopiedFile {
  std::string from;       // relative to the JUBE file
  std::string to;         // relative to the run's folder
  bool is_input = false;  // of a substitution, which alone reads it
};

constexpr std::size_t kLongestDeck = 1'000'000;

class FileWriter {
 public:
  FileWriter(const JubeParameters& parameters, const JubeRequest& request, const JubeFiles& files, Draft& draft)
      : parameters_(parameters), request_(request), files_(files), draft_(draft) {}

  void add_fileset(const JubeNode& set) {
    for (const JubeNode& node : set.children) {
      if (node.tag == "copy") {
        add_copy(node);
      } else if (node.tag == "link") {
        note(node,
             fmt::format("FILL IN the command: the link to `{}` is not made: write the path of what it names in the command",
                         node.text));
      } else if (node.tag == "prepare") {
        note(node, fmt::format("FILL IN `prepare` or the command's first lines: `{}`", node.text));
      }
    }
  }

  void add_substitutes(const JubeNode& set, std::vector<std::pair<std::string, std::string>>& decks) {
    for (const JubeNode* file : set.all("iofile")) {
      const std::optional<std::string> in = parameters_.constant(file->attribute("in"));
      const std::optional<std::string> out = parameters_.constant(file->attribute("out"));
      if (!in || !out || is_no_deck(*out)) {
        note(*file, fmt::format("FILL IN files: the names of `{}` depend on parameters or leave the run's folder",
                                file->attribute("in")));
        continue;
      }
      const auto copied = std::find_if(copies_.begin(), copies_.end(), [&](const CopiedFile& each) { return each.to == *in; });
      const std::optional<std::string> text = files_(copied == copies_.end() ? *in : copied->from);
      if (copied != copies_.end()) copied->is_input = true;
      if (!text || !is_utf8(*text)) {
        note(*file, fmt::format("FILL IN files: `{}` cannot be read as a text: put {{{{name}}}} where values belong, then "
                                "`{{from: {}, to: {}}}`",
                                *in, *in, *out));
        continue;
      }
      const std::string deck = free_path(jube_fs::path(*out).filename().string(), decks);
      decks.emplace_back(deck, substituted(*text, set));
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

 private:
  void note(const JubeNode& node, const std::string& message) { draft_.note(node.place, "files", message); }
  static bool is_no_deck(const std::string& to) {
    return to.empty() || to.starts_with('/') || to.find("..") != std::string::npos || to.find('*') != std::string::npos;
  }

  /// Beside the experiment file; files of the same name in two folders are two decks.
  std::string free_path(const std::string& name, const std::vector<std::pair<std::string, std::string>>& decks) const {
    const jube_fs::path folder = jube_fs::path(request_.output).parent_path();
    const auto is_taken = [&](const std::string& path) {
      return std::any_of(decks.begin(), decks.end(), [&](const auto& deck) { return deck.first == path; });
    };
    std::string path = (folder / (request_.name + "_" + name)).string();
    for (int number = 2; is_taken(path); ++number)
      path = (folder / fmt::format("{}{}_{}", request_.name, number, name)).string();
    return path;
  }

  /// Placeholders only where a name differs between points.
  std::string filled(const std::string& text, const JubeNode& node) {
    const std::optional<std::string> plain = parameters_.constant(text);
    return plain ? *plain : parameters_.fill(text, node.place, "files", draft_);
  }

  void add_copy(const JubeNode& node) {
    const std::string directory = node.attribute("source_dir") + node.attribute("directory");
    const std::string separator = node.attribute("separator");
    for (const std::string& each : split(node.text, separator.empty() ? ',' : separator.front())) {
      const std::string name(trim(each));
      const std::string from = filled(directory.empty() ? name : directory + "/" + name, node);
      const std::string own = filled(node.attribute("name"), node);
      const std::string to =
          (jube_fs::path(node.attribute("target_dir")) / (own.empty() ? jube_fs::path(from).filename().string() : own))
              .string();
      const bool varies = from.find("{{") != std::string::npos;
      const std::optional<std::string> text = varies ? std::nullopt : files_(from);
      if (is_no_deck(to) || from.find('*') != std::string::npos || from.find('$') != std::string::npos ||
          (!varies && (!text || !is_utf8(*text)))) {
        note(node, fmt::format("FILL IN files: `{}` is not copied, as it is no text file that is there: write its path in the "
                               "command, or `cp` it there",
                               from));
      } else {
        copies_.push_back({from, to, false});
      }
    }
  }

  /// What JUBE replaces becomes a placeholder, or the text itself.
  std::string substituted(std::string text, const JubeNode& set) {
    for (const JubeNode* sub : set.all("sub")) {
      const std::string source = sub->attribute("source");
      const std::string dest = sub->attribute("dest");
      if (sub->attribute("mode") == "regex") {
        note(*sub, fmt::format("FILL IN the deck: the regular expression `{}` is not replaced: put `{{{{name}}}}` into the "
                               "deck where it matches",
                               source));
        continue;
      }
      const std::optional<std::string> plain = parameters_.constant(source);
      if (!plain || plain->empty()) continue;
      const std::string value = parameters_.fill(dest.empty() ? sub->text : dest, sub->place, "files", draft_);
      std::string replaced;
      std::size_t at = 0;
      for (std::size_t next = text.find(*plain); next != std::string::npos; next = text.find(*plain, at)) {
        replaced += text.substr(at, next - at) + value;
        at = next + plain->size();
        if (replaced.size() > kLongestDeck) refuse_jube(sub->place, "with its values filled in the file has more than 1 MB");
      }
      text = replaced + text.substr(at);
    }
    return text;
  }

  const JubeParameters& parameters_;
  const JubeRequest& request_;
  const JubeFiles& files_;
  Draft& draft_;
  std::vector<CopiedFile> copies_;
};

}  // namespace

void write_files(const std::vector<const JubeNode*>& sets, const JubeParameters& parameters, const JubeRequest& request,
                 const JubeFiles& files, Draft& draft, std::vector<std::pair<std::string, std::string>>& decks) {
  FileWriter writer(parameters, request, files, draft);
  for (const JubeNode* set : sets) {
    if (set->tag == "fileset") writer.add_fileset(*set);
  }
  for (const JubeNode* set : sets) {
    if (set->tag == "substituteset") writer.add_substitutes(*set, decks);
  }
  writer.write_copies();
}

}  // namespace hpcbench
