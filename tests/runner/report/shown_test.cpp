// Which columns people see, and LaTeX tables for a document of one's own.
#include <doctest/doctest.h>

#include <string>

#include "runner/report/study.hpp"

using namespace hpcbench;

namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Of a program that reports a train loss and nothing of validation.
MadeStudy without_validation() {
  MadeStudy study = clean_study();
  for (AttemptRecord& record : study.records) record.metrics.erase("val_loss");
  return study;
}

}  // namespace

TEST_CASE("empty columns: not shown to people, unless they are asked for by name") {
  MadeStudy study = without_validation();
  const Table table = study.table();
  for (const std::string format : {"text", "markdown", "html"}) {
    CAPTURE(format);
    CHECK(holds(print_as(clean_study().table(), format), "validation loss"));
    CHECK_FALSE(holds(print_as(table, format), "validation loss"));
    CHECK(holds(print_as(table, format), "train loss"));
  }
  CHECK_FALSE(holds(print_as(clean_study().table(), "latex"), "loss"));  // a paper's columns
  CHECK(holds(print_as(table, "csv"), "validation_loss"));
  CHECK(holds(print_as(table, "json"), "validation_loss"));
  study.records[0].metrics["val_loss"] = 0.5;  // one row has it
  CHECK(holds(print_as(study.table(), "text"), "validation loss"));
  study = without_validation();
  study.experiment.report.columns = {"strategy", "validation_loss"};
  for (const std::string format : {"text", "markdown", "latex", "html"}) {
    CHECK(holds(print_as(study.table(), format), "validation loss"));
  }
}

TEST_CASE("empty columns: the median stays, and the caption promises no interval that no row has") {
  MadeStudy study = empty_study();
  CHECK(holds(print_as(study.table(), "text"), "median"));
  study.add_run(0, 1, 10, 0);
  study.add_run(1, 1, 6, 1);
  const std::string text = print_as(study.table(), "text");
  CHECK_FALSE(holds(text, "  interval"));
  CHECK_FALSE(holds(text, "exact interval from"));
  CHECK(holds(text, "n independent runs and their median; no row has enough runs for an interval."));
  CHECK(holds(print_as(clean_study().table(), "text"), "exact interval from order statistics"));
}

TEST_CASE("latex: the table alone, with a caption and a label of one's own") {
  MadeStudy study = clean_study();
  study.records.pop_back();
  Table table = study.table();
  PrintSettings settings;
  settings.latex.table_only = true;
  settings.latex.caption = "Speedups of 50% & more";
  settings.latex.label = "tab:speed_up";
  const std::string text = print_as(table, "latex", settings);
  CHECK(holds(text, "\\caption{Speedups of 50\\% \\& more; brackets: intervals of at least "));
  CHECK(holds(text, " \\% coverage}\\label{tab:speed_up}\n"));
  CHECK_FALSE(holds(text, "digits"));
  CHECK_FALSE(holds(text, "itemize"));
  CHECK_FALSE(holds(text, "Hodges"));
  CHECK(holds(text, "% Warnings that are not printed here: adaptive, few-repeats."));
  CHECK(text.ends_with("\\end{table}\n\n"));
  table.group_by = {"strategy"};
  const std::string split = print_as(table, "latex", settings);
  CHECK(holds(split, "(strategy=baseline); brackets: intervals of at least "));
  CHECK(holds(split, "(strategy=ddp); brackets: intervals of at least "));
  CHECK(holds(split, " \\% coverage}\\label{tab:speed_up-1}\n"));
  CHECK(holds(split, " \\% coverage}\\label{tab:speed_up-2}\n"));
  table.simulated_nodes = true;
  CHECK(holds(print_as(table, "latex", settings), "more (simulated nodes)"));  // whatever the caption says
}

TEST_CASE("latex: what TeX takes as a label") {
  for (const std::string label : {"tab:a", "a_b-1.2/x+y", "1"}) CHECK(is_latex_label(label));
  for (const std::string label : {"", "a b", "a}", "50%", "\\x", "a#", "a~b", "é"}) CHECK_FALSE(is_latex_label(label));
}
