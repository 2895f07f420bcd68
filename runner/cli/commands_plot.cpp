#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/report_view.hpp"
#include "cli/study_options.hpp"
#include "imports/import_runs.hpp"
#include "report/plots/gnuplot.hpp"

namespace hpcbench {

namespace {

struct PlotOptions {
  StudyOptions study;
  ViewOptions view;
  std::string kind = "all";
  std::string folder = "plots";
  bool png = false;
};

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const PlotKind& kind : plot_kinds()) names.push_back(kind.name);
  names.emplace_back("all");
  return names;
}

/// The plots that were asked for; one by name must have something to show, of all those that have.
std::vector<Plot> choose_plots(const Table& table, const std::string& wanted) {
  std::vector<Plot> plots;
  for (const PlotKind& kind : plot_kinds()) {
    if (wanted != "all" && wanted != kind.name) continue;
    if (std::optional<Plot> plot = kind.draw(table)) {
      plots.push_back(std::move(*plot));
    } else if (wanted == "all") {
      say(fmt::format("no plot of {}: it needs {}", kind.name, kind.needs));
    } else {
      throw InputError(fmt::format("error: there is nothing to plot for --kind {}: it needs {}", kind.name, kind.needs));
    }
  }
  if (plots.empty()) throw InputError("error: there is nothing to plot yet: no run has ended");
  return plots;
}

int make_plots(const PlotOptions& options) {
  Study study = load_study(options.study);
  const Table table = view_study(study, options.study, options.view);
  const std::vector<Plot> plots = choose_plots(table, options.kind);
  ProcessToolRunner tools;
  std::string advice;
  const bool can_draw = find_gnuplot(tools, advice);
  make_folders(options.folder, kUserFolder);
  for (const Plot& plot : plots) write_plot_files(plot, options.folder);
  if (!can_draw) {
    throw UnavailableError(
        fmt::format("error: {}; data and scripts are in {}: `gnuplot NAME.gp` there draws them", advice, options.folder));
  }
  draw_pictures(tools, plots, options.folder, Picture::svg);
  if (options.png) draw_pictures(tools, plots, options.folder, Picture::png);
  std::string written;
  for (const Plot& plot : plots) {
    written += options.folder + "/" + plot.name + ".svg\n";
    if (options.png) written += options.folder + "/" + plot.name + ".png\n";
  }
  print_data(written);
  return study.broken_imports ? kBrokenImports : 0;
}

}  // namespace

void add_plot(commandline::Command& command) {
  const auto options = std::make_shared<PlotOptions>();
  add_study_options(command, options->study, FileArgument::optional);
  add_view_options(command, options->view);
  command.add_option("--kind", options->kind, join(kind_names(), ", ")).shows_initial().one_of(kind_names());
  command.add_option("--out", options->folder, "where the pictures, their data (.tsv) and their scripts (.gp) go")
      .shows_initial()
      .value_name("DIR");
  command.add_flag("--png", options->png, "also PNG");
  command.action([=] { return make_plots(*options); });
}

}  // namespace hpcbench
