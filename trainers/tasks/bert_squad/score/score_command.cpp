#include "tasks/bert_squad/score/score_command.hpp"

#include <nlohmann/json.hpp>
#include <ostream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "commandline/command.hpp"
#include "tasks/bert_squad/score/squad_score.hpp"

namespace hpcbench::train {

namespace {

constexpr const char* kScoreExamples =
    "Example:\n"
    "  hpcbench-train score --data dev-v2.0.json --predictions "
    "predictions.json\n"
    "\n"
    "Prints one JSON object with the keys of the official evaluation script: "
    "exact, f1 and total, and HasAns_* and NoAns_* where\n"
    "there are such questions. Questions without a prediction are counted on "
    "standard error: in SQuAD 2.0 they are left out, in\n"
    "SQuAD 1.1 they are wrong, as the official scripts have it. Exit codes: 0 "
    "well, 2 the input is wrong, 3 a file cannot be read.";

nlohmann::ordered_json score_json(const SquadScore& score) {
  nlohmann::ordered_json json = {{"exact", score.exact}, {"f1", score.f1}, {"total", score.total}};
  const auto add = [&](const std::string& prefix, const std::optional<SquadScore::Part>& part) {
    if (!part) return;
    json[prefix + "_exact"] = part->exact;
    json[prefix + "_f1"] = part->f1;
    json[prefix + "_total"] = part->total;
  };
  add("HasAns", score.has_answer);
  add("NoAns", score.no_answer);
  return json;
}

void warn_of_missing(const FileScore& result, std::ostream& err) {
  if (const std::size_t count = result.missing.size(); count > 0) {
    err << "warning: " << count << " question" << (count == 1 ? " has" : "s have") << " no prediction and "
        << (count == 1 ? "is " : "are ") << (result.version == SquadVersion::v1 ? "counted as wrong" : "left out")
        << " (the first is `" << result.missing.front() << "`)\n";
  }
  if (result.unknown > 0) {
    err << "warning: " << result.unknown << " prediction" << (result.unknown == 1 ? " is" : "s are")
        << " of questions that the data does not have\n";
  }
}

/// Returns a wrong command line, and what may have been meant.
}  // namespace

int score_command(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  std::string data;
  std::string predictions;
  commandline::Command command("hpcbench-train score", "Scores predictions by the official definitions of SQuAD 1.1 and 2.0.");
  command.footer(kScoreExamples);
  command.add_option("--data", data, "questions and their answers, a SQuAD 1.1 or 2.0 file").value_name("FILE").required();
  command.add_option("--predictions", predictions, "one JSON object: question id -> text").value_name("FILE").required();
  try {
    if (const commandline::Parsed parsed = commandline::parse(command, arguments); parsed.text) {
      out << *parsed.text;
      return 0;
    }
    const FileScore result = score_files(data, predictions);
    warn_of_missing(result, err);
    out << score_json(result.score).dump(2) << "\n" << std::flush;
    if (!out) throw DataError("error: the scores cannot be written: standard output takes no more");
    return 0;
  } catch (const commandline::UsageError& error) {
    err << error.text() << "\n";
    return kExitInput;
  } catch (const DataError& error) {
    err << error.what() << "\n";
    return kExitData;
  }
}

}  // namespace hpcbench::train
