#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  bool png = false, pdf = false, eps = false;

  /// The endings of the pictures of each plot.
  std::vector<std::string> endings() const {
    std::vector<std::string> all = {"svg"};
    if (png) all.emplace_back("png");
    if (pdf) all.emplace_back("pdf");
    if (eps) all.emplace_back("eps");
    return all;
  }
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

/// `--out speedup.pdf` would make a folder of this name.
void refuse_file_name(const std::string& folder) {
  const std::string ending = std::filesystem::path(folder).extension().string();
  constexpr std::array kPictures = {".svg", ".png", ".pdf", ".eps", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".webp"};
  if (std::find(kPictures.begin(), kPictures.end(), ending) == kPictures.end() || std::filesystem::is_directory(folder)) return;
  const bool drawn = ending == ".png" || ending == ".pdf" || ending == ".eps";
  throw InputError(fmt::format(
      "error: --out {}: each plot has a file of its own, and --out names their folder; write --out figures{}", folder,
      drawn              ? " --" + ending.substr(1)
      : ending == ".svg" ? ""
                         : " --png"));
}

int make_plots(const PlotOptions& options) {
  refuse_file_name(options.folder);
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
  for (const std::string& ending : options.endings()) draw_pictures(tools, plots, options.folder, ending);
  std::string written;
  for (const Plot& plot : plots) {
    for (const std::string& ending : options.endings()) written += fmt::format("{}/{}.{}\n", options.folder, plot.name, ending);
  }
  print_data(written);
  return !study.broken_imports.empty() ? kBrokenImports : 0;
}

}  // namespace

void add_plot(commandline::Command& command) {
  const auto options = std::make_shared<PlotOptions>();
  add_study_options(command, options->study, FileArgument::optional);
  add_view_options(command, options->view);
  command.add_option("--kind", options->kind, join(kind_names(), ", ")).one_of(kind_names());
  command.add_option("-o,--out", options->folder, "where the pictures, their data (.tsv) and their scripts (.gp) go")
      .value_name("DIR");
  command.add_flag("--png", options->png, "also PNG");
  command.add_flag("--pdf", options->pdf, "also PDF, for papers");
  command.add_flag("--eps", options->eps, "also EPS");
  command.action([=] { return make_plots(*options); });
}

}  // namespace hpcbench
