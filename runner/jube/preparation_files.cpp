#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "jube/filesets.hpp"
#include "jube/steps.hpp"

namespace hpcbench {

namespace {

namespace jube_fs = std::filesystem;

class PreparationFiles {
 public:
  PreparationFiles(const JubeNode& step, const JubeParameters& parameters, const JubeRequest& request, const JubeFiles& files,
                   Draft& draft, JubeDecks& decks)
      : folder_(fmt::format("{{{{{}.dir}}}}", preparation_name(step))),
        parameters_(parameters),
        beside_(jube_fs::path(request.path).parent_path()),
        files_(files),
        draft_(draft),
        decks_(decks) {}

  void add_fileset(const JubeNode& set) {
    for (const JubeNode& node : set.children) {
      if (!is_active(node, parameters_, "prepare", draft_)) continue;
      if (node.tag == "copy" || node.tag == "link") {
        add_file(node);
      } else if (node.tag == "prepare") {
        result_.inside += script_of_prepare(node, folder_, parameters_, "prepare", draft_);
      }
    }
  }

  void add_substitutes(const JubeNode& set) {
    for (const JubeNode* file : set.all("iofile")) {
      const std::optional<std::string> in = parameters_.constant(file->attribute("in"));
      const std::optional<std::string> out = parameters_.constant(file->attribute("out"));
      const auto copied = in ? copies_.find(*in) : copies_.end();
      const std::optional<std::string> text = !in                       ? std::nullopt
                                              : copied != copies_.end() ? files_(copied->second)
                                                                        : files_(parameters_.beside(*in));
      const std::optional<std::string> filled = text && is_utf8(*text) ? decks_.with_values(*text, set) : std::nullopt;
      if (!filled || !out || leaves_folder(*out)) {
        draft_.note(file->place, "prepare",
                    fmt::format("FILL IN the command: `{}` is not made of `{}`, as its values depend on parameters or it is no "
                                "existing text: create it in the command, for example by `sed`",
                                file->attribute("out"), file->attribute("in")));
        continue;
      }
      bring(decks_.add(*out, *filled), *out, false);
    }
  }

  StepFiles take() { return std::move(result_); }

 private:
  void bring(const std::string& from, const std::string& to, bool link) {
    const std::string folder = jube_fs::path(to).parent_path().string();
    if (!folder.empty()) result_.before += fmt::format("mkdir -p \"{}/{}\"\n", folder_, folder);
    const std::string into = has_glob(from) ? (folder.empty() ? folder : folder + "/") : to;
    const std::string source = link && !from.starts_with('/') ? "\"$PWD\"/" + shell_word(from) : shell_word(from);
    result_.before += fmt::format("{} {} \"{}/{}\"\n", link ? "ln -s" : "cp -r", source, folder_, into);
  }

  void add_file(const JubeNode& node) {
    const bool is_internal = node.attribute("rel_path_ref") == "internal";
    const auto constant = [&](const std::string& text) { return parameters_.constant(text).value_or(text); };
    if (node.tag == "copy" && !is_internal) {
      for_each_file(node, constant,
                    [&](const std::string& from, const std::string& to) { copies_[to] = parameters_.beside(from); });
    }
    const auto fill = [&](const std::string& text) {
      const std::string plain = constant(text);
      return parameters_.beside(plain) != plain ? plain : parameters_.fill(text, node.place, "prepare", draft_);
    };
    for_each_file(node, fill, [&](const std::string& name, const std::string& to) {
      const std::string from = parameters_.beside(name);
      if (is_internal) {
        result_.inside += fmt::format("{} {} {}\n", node.tag == "link" ? "ln -s" : "cp -r", shell_word(from), shell_word(to));
      } else {
        bring(from.starts_with("{{") ? from : (beside_ / from).string(), to, node.tag == "link");
      }
    });
  }

  std::map<std::string, std::string> copies_;  // name in the step's folder: the file beside the JUBE file
  std::string folder_;
  const JubeParameters& parameters_;
  jube_fs::path beside_;
  const JubeFiles& files_;
  Draft& draft_;
  JubeDecks& decks_;
  StepFiles result_;
};

}  // namespace

StepFiles files_of_preparation(const JubeNode& step, const std::vector<const JubeNode*>& sets, const JubeParameters& parameters,
                               const JubeRequest& request, const JubeFiles& files, Draft& draft, JubeDecks& decks) {
  JubeParameters own = parameters;
  own.enter(step.attribute("name"), fmt::format("{{{{{}.dir}}}}", preparation_name(step)));
  PreparationFiles writer(step, own, request, files, draft, decks);
  add_file_sets(sets, writer);
  return writer.take();
}

}  // namespace hpcbench
