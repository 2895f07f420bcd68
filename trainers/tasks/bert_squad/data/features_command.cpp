#include "tasks/bert_squad/data/features_command.hpp"

#include <sched.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "commandline/command.hpp"
#include "tasks/bert_squad/data/feature_lines.hpp"
#include "tasks/bert_squad/data/squad_features.hpp"

namespace hpcbench::train {

namespace {

constexpr const char* kFeatureExamples =
    "Examples:\n"
    "  hpcbench-train features --data data/squad2-excerpt.json --vocab data/bert-base-uncased-vocab.txt\n"
    "  hpcbench-train features --data train-v1.1.json --vocab vocab.txt --max-length 384 --doc-stride 128 --threads 8 | wc -l\n"
    "  hpcbench-train features --data dev-v2.0.json --vocab vocab.txt --cased --max-features 10 --padding max\n"
    "\n"
    "One line a feature: {\"example_id\", \"input_ids\", \"token_type_ids\", \"offsets\", \"start_position\", "
    "\"end_position\"}. Offsets are\n"
    "code points of the question (without leading white space) or of the context, [0, 0] for special tokens; the positions "
    "are\n"
    "the first and last token of the first answer, 0 where there is none or it is not wholly in the window.";

enum class FeaturePadding { kNone, kMax };

struct FeaturesArguments {
  FeatureRequest request;
  FeaturePadding padding = FeaturePadding::kNone;
  bool wants_help = false;
};

int usable_cores() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(1, CPU_COUNT(&allowed)) : 1;
}

[[noreturn]] void refuse(const std::string& what) {
  throw InputError(concat("error: ", what, ". `hpcbench-train features --help` lists the options"));
}

/// The options of the command, bound to what they set.
class FeaturesOptions {
 public:
  FeaturesOptions() {
    FeatureRequest& request = arguments_.request;
    request.threads = usable_cores();
    request.cache_folder = default_cache_folder();
    command_.footer(kFeatureExamples);
    command_.add_option("--data", request.data, "SQuAD 1.1 or 2.0, JSON").value_name("FILE");
    command_.add_option("--vocab", request.vocabulary, "vocab.txt: one word piece a line").value_name("FILE");
    command_.add_option("--max-length", request.max_length, "tokens of a feature, with the special ones")
        .value_name("N")
        .shows_initial();
    command_.add_option("--doc-stride", request.doc_stride, "tokens that neighbouring windows share")
        .value_name("N")
        .shows_initial();
    command_.add_flag("--cased", request.cased, "keep upper case and accents");
    command_.add_option("--max-features", request.max_features, "only the first N").value_name("N");
    command_.add_option("--threads", request.threads, "threads that make and print them")
        .value_name("N")
        .shows_initial("the usable cores");
    command_.add_option("--padding", padding_, "none, or max: fill up to --max-length with [PAD]")
        .value_name("none|max")
        .shows_initial();
    command_.add_option("--cache", request.cache_folder, "where features are kept")
        .value_name("DIR")
        .shows_initial("$XDG_CACHE_HOME/hpcbench");
  }

  FeaturesArguments parse(const std::vector<std::string>& arguments) {
    try {
      arguments_.wants_help = commandline::parse(command_, arguments).text.has_value();
    } catch (const commandline::UnexpectedArguments& error) {
      const std::string name = error.misspelt();
      if (name.starts_with('-')) refuse(concat("there is no option ", name, did_you_mean(name, error.candidates())));
      refuse(concat("the argument `", name, "` is not understood"));
    } catch (const commandline::UsageError& error) {
      refuse(error.what());
    }
    if (arguments_.wants_help) return arguments_;
    if (arguments_.request.data.empty()) refuse("--data FILE is needed: the SQuAD file");
    if (arguments_.request.vocabulary.empty()) refuse("--vocab FILE is needed: the vocab.txt of the model");
    if (padding_ != "none" && padding_ != "max") refuse(concat("--padding is none or max, not `", padding_, "`"));
    arguments_.padding = padding_ == "max" ? FeaturePadding::kMax : FeaturePadding::kNone;
    return arguments_;
  }

  std::string help() const { return command_.help(); }

 private:
  commandline::Command command_{"hpcbench-train features",
                                "Prints the features of a SQuAD file, as Hugging Face's run_qa makes them for training."};
  FeaturesArguments arguments_;
  std::string padding_ = "none";
};

}  // namespace

std::string features_help() { return FeaturesOptions().help(); }

int features_command(const std::vector<std::string>& arguments, std::FILE* output) {
  const FeaturesArguments parsed = FeaturesOptions().parse(arguments);
  if (parsed.wants_help) {
    const std::string help = features_help();
    if (std::fwrite(help.data(), 1, help.size(), output) != help.size() || std::fflush(output) != 0)
      throw DataError(concat("error: the help cannot be written: ", std::strerror(errno)));
    return 0;
  }
  const SquadFeatures features = SquadFeatures::open(parsed.request);
  if (features.note()) log_warning("note: " + *features.note());
  const std::int64_t length = parsed.padding == FeaturePadding::kMax ? parsed.request.max_length : 0;
  print_features(features, length, parsed.request.threads, output);
  return 0;
}

}  // namespace hpcbench::train
