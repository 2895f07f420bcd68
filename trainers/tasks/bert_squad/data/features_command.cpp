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

int usable_cores() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(1, CPU_COUNT(&allowed)) : 1;
}

}  // namespace

int features_command(const std::vector<std::string>& arguments, std::FILE* output) {
  FeatureRequest request;
  request.threads = usable_cores();
  request.cache_folder = default_cache_folder();
  std::string padding = "none";
  commandline::Command command("hpcbench-train features",
                               "Prints the features of a SQuAD file, as Hugging Face's run_qa makes them for training.");
  command.footer(kFeatureExamples);
  command.add_option("--data", request.data, "SQuAD 1.1 or 2.0, JSON").value_name("FILE").required();
  command.add_option("--vocab", request.vocabulary, "vocab.txt: one word piece a line").value_name("FILE").required();
  command.add_option("--max-length", request.max_length, "tokens of a feature, with the special ones").value_name("N");
  command.add_option("--doc-stride", request.doc_stride, "tokens that neighbouring windows share").value_name("N");
  command.add_flag("--cased", request.cased, "keep upper case and accents");
  command.add_option("--max-features", request.max_features, "only the first N").value_name("N");
  command.add_option("--threads", request.threads, "threads that make and print them")
      .value_name("N")
      .shows_initial("the usable cores");
  command.add_option("--padding", padding, "max: fill up to --max-length with [PAD]").one_of({"none", "max"});
  command.add_option("--cache", request.cache_folder, "where features are kept")
      .value_name("DIR")
      .shows_initial("$XDG_CACHE_HOME/hpcbench");
  try {
    if (const commandline::Parsed parsed = commandline::parse(command, arguments); parsed.text) {
      if (std::fputs(parsed.text->c_str(), output) < 0 || std::fflush(output) != 0)
        throw DataError(concat("error: the help cannot be written: ", std::strerror(errno)));
      return 0;
    }
  } catch (const commandline::UsageError& error) {
    throw InputError(error.text());
  }
  const SquadFeatures features = SquadFeatures::open(request);
  if (features.note()) log_warning("note: " + *features.note());
  print_features(features, padding == "max" ? request.max_length : 0, request.threads, output);
  return 0;
}

}  // namespace hpcbench::train
