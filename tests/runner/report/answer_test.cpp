// What the page says first: the answer with its interval, what to distrust, and what it says where there is none.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>

#include "base/files.hpp"
#include "report/formats/inline_svg.hpp"
#include "report/plots/plot_parts.hpp"
#include "runner/report/study.hpp"

using namespace hpcbench;

namespace {

/// The text of the section `answer`, which stands before all tables.
std::string answer_of(const Table& table) {
  const std::string page = print_as(table, "html");
  const std::size_t begin = page.find("<section class=\"answer\"");
  const std::size_t end = page.find("</section>", begin);
  REQUIRE(begin != std::string::npos);
  CHECK(begin < page.find("<table"));
  std::string text;
  bool in_tag = false;
  for (const char c : page.substr(begin, end - begin)) {
    in_tag = c == '<' || in_tag;
    if (!in_tag) text += c == '\n' ? ' ' : c;
    in_tag = in_tag && c != '>';
  }
  return text.substr(1);
}

}  // namespace

TEST_CASE("answer: the largest speedup with its interval and n") {
  CHECK(answer_of(clean_study().table()) ==
        "train_s: of the rows shown, strategy=ddp, gpus_per_node=2 has the largest speedup over the baseline, 2.0 "
        "(interval [1.6, 2.4] 95.9 %, n = 6). The interval holds for this row alone, not for the choice of the largest. ");
}

TEST_CASE("answer: no difference shown, slower, and without an interval") {
  MadeStudy study = clean_study();
  set_metric(study, 6, "train_s", {12.1, 10.1, 15.1, 11.1, 14.1, 13.1});
  CHECK(answer_of(study.table()).find("The interval holds 1: no difference is shown.") != std::string::npos);
  set_metric(study, 6, "train_s", {22, 20, 25, 21, 24, 23});
  CHECK(answer_of(study.table()).find("It is slower than the baseline.") != std::string::npos);
  study = empty_study();
  study.add_run(0, 1, 10, 0);
  study.add_run(1, 1, 6, 1);
  CHECK(answer_of(study.table()).find("(no interval, n = 1). Without an interval, it is unknown how much of it is chance.") !=
        std::string::npos);
}

TEST_CASE("answer: names what to read before it is trusted") {
  MadeStudy study = clean_study();
  CHECK(answer_of(study.table()).find("Before you trust it") == std::string::npos);
  study.records[7].state = State::failed;
  study.records[6].facts["precision"] = "bf16";
  CHECK(answer_of(study.table()).find("Before you trust it, read the warnings: confounded, failures, few-repeats.") !=
        std::string::npos);
}

TEST_CASE("answer: no run, no success, no speedup") {
  CHECK(answer_of(empty_study().table()) == "There is no answer yet: no run has a value of train_s. ");
  MadeStudy study = clean_study();
  for (AttemptRecord& record : study.records) record.state = State::failed;
  const Table failed = study.table();
  CHECK(answer_of(failed) == "No run succeeded: there is no value of train_s. The warnings give the reason: no-success. ");
  CHECK(print_as(failed, "html").find("How to read this table") == std::string::npos);
  study = clean_study();
  study.experiment.baseline.clear();
  CHECK(answer_of(study.table()).find("No speedup in train_s: the experiment file has no `baseline`") == 0);
}

TEST_CASE("answer: of imported results it says so") {
  MadeStudy study = clean_study();
  for (std::size_t i = 6; i < 12; ++i) {
    study.records[i].key.run.kind = RunKind::imported;
    study.records[i].facts["source"] = "imported";
  }
  CHECK(answer_of(study.table()).find("n = 6). It is of imported results. The interval holds") != std::string::npos);
}

TEST_CASE("pictures of a page: colours are variables, and only colours") {
  const PlotPicture plot{"speedup", "a \"b\"",
                         "<?xml version=\"1.0\"?>\n<svg\n viewBox=\"0 0 791 456\">\n<rect fill=\"#FFFFFF\" id='a'/>"
                         "<g color=\"black\" stroke='rgb(  0, 114, 178)' fill = 'rgb(1,2,999)' d='M0,1'>"
                         "<text>fill='black' rgb(0,0,0) #ffffff</text></g><use xlink:href='#a'/></svg>"};
  const InlinePicture picture = inline_svg(plot);
  CHECK(picture.width == 791);
  CHECK(picture.svg ==
        "<svg role=\"img\" aria-label=\"a &quot;b&quot;\" style=\"min-width:570px\"\n viewBox=\"0 0 791 456\">\n"
        "<rect fill=\"var(--plot-ffffff,#ffffff)\" id='speedup-a'/>"
        "<g color=\"var(--plot-000000,#000000)\" stroke='var(--plot-0072b2,#0072b2)' fill = 'rgb(1,2,999)' d='M0,1'>"
        "<text>fill='black' rgb(0,0,0) #ffffff</text></g><use href='#speedup-a'/></svg>");
  CHECK(inline_svg({"x", "x", "no picture"}).svg.empty());
}

TEST_CASE("pictures of a page: in the dark each colour of a plot has another") {
  const std::string page = read_file(std::string(HPCBENCH_SOURCE_DIR) + "/templates/report.html.mustache");
  for (std::size_t i = 0; i < 7; ++i) {
    std::string color(plot_color(i).substr(1));
    std::transform(color.begin(), color.end(), color.begin(), [](unsigned char c) { return std::tolower(c); });
    CAPTURE(color);
    CHECK(page.find("--plot-" + color + ": #") != std::string::npos);
  }
}
