// Which columns people see, and LaTeX tables for a document of one's own.
#include <doctest/doctest.h>

#include <string>

#include "fakes/checks.hpp"
#include "runner/report/study.hpp"

using namespace hpcbench;

namespace {

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
    CHECK(contains(print_as(clean_study().table(), format), "validation loss"));
    CHECK_FALSE(contains(print_as(table, format), "validation loss"));
    CHECK(contains(print_as(table, format), "train loss"));
  }
  CHECK_FALSE(contains(print_as(clean_study().table(), "latex"), "loss"));  // a paper's columns
  CHECK(contains(print_as(table, "csv"), "validation_loss"));
  CHECK(contains(print_as(table, "json"), "validation_loss"));
  study.records[0].metrics["val_loss"] = 0.5;  // one row has it
  CHECK(contains(print_as(study.table(), "text"), "validation loss"));
  study = without_validation();
  study.experiment.report.columns = {"strategy", "validation_loss"};
  for (const std::string format : {"text", "markdown", "latex", "html"}) {
    CHECK(contains(print_as(study.table(), format), "validation loss"));
  }
}

TEST_CASE("empty columns: the median stays, and the caption promises no interval that no row has") {
  MadeStudy study = empty_study();
  CHECK(contains(print_as(study.table(), "text"), "median"));
  study.add_run(0, 1, 10, 0);
  study.add_run(1, 1, 6, 1);
  const std::string text = print_as(study.table(), "text");
  CHECK_FALSE(contains(text, "  interval"));
  CHECK_FALSE(contains(text, "exact interval from"));
  CHECK(contains(text, "n independent runs and their median; no row has enough runs for an interval."));
  CHECK(contains(print_as(clean_study().table(), "text"), "exact interval from order statistics"));
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
  CHECK(contains(text, "\\caption{Speedups of 50\\% \\& more; brackets: intervals of at least "));
  CHECK(contains(text, " \\% coverage}\\label{tab:speed_up}\n"));
  CHECK_FALSE(contains(text, "digits"));
  CHECK_FALSE(contains(text, "itemize"));
  CHECK_FALSE(contains(text, "Hodges"));
  CHECK(contains(text, "% Warnings that are not printed here: adaptive, few-repeats."));
  CHECK(text.ends_with("\\end{table}\n\n"));
  table.group_by = {"strategy"};
  const std::string split = print_as(table, "latex", settings);
  CHECK(contains(split, "(strategy=baseline); brackets: intervals of at least "));
  CHECK(contains(split, "(strategy=ddp); brackets: intervals of at least "));
  CHECK(contains(split, " \\% coverage}\\label{tab:speed_up-1}\n"));
  CHECK(contains(split, " \\% coverage}\\label{tab:speed_up-2}\n"));
  table.simulated_nodes = true;
  CHECK(contains(print_as(table, "latex", settings), "more (simulated nodes)"));  // whatever the caption says
}

TEST_CASE("latex: what TeX takes as a label") {
  for (const std::string label : {"tab:a", "a_b-1.2/x+y", "1"}) CHECK(is_latex_label(label));
  for (const std::string label : {"", "a b", "a}", "50%", "\\x", "a#", "a~b", "é"}) CHECK_FALSE(is_latex_label(label));
}
