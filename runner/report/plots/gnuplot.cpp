#include "report/plots/gnuplot.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& text) {
  const std::string_view trimmed = trim(text);
  return std::string(trimmed.substr(0, trimmed.find('\n')));
}

}  // namespace

bool find_gnuplot(ToolRunner& tools, std::string& advice) {
  const ToolResult result = tools.run({{"gnuplot", "--version"}, "", 20});
  if (result.succeeded() && result.output.starts_with("gnuplot ")) return true;
  advice =
      "plots are drawn by gnuplot, which is not in PATH here: install it (Debian: apt install gnuplot-nox), or run this "
      "where it is installed";
  return false;
}

void write_plot_files(const Plot& plot, const std::string& folder) {
  write_file(folder + "/" + plot.name + ".tsv", plot.data, Durability::none, kUserFile);
  write_file(folder + "/" + plot.name + ".gp", plot.script, Durability::none, kUserFile);
}

void draw_pictures(ToolRunner& tools, const std::vector<Plot>& plots, const std::string& folder, const std::string& kind) {
  // -d: no initialisation file of the user or the machine changes the picture.
  std::vector<std::string> argv = {"gnuplot", "-d"};
  if (kind != "svg") argv.insert(argv.end(), {"-e", kind + "=1"});
  for (const Plot& plot : plots) argv.push_back(plot.name + ".gp");
  constexpr double kPatienceS = 300;
  const ToolResult result = tools.run({argv, folder, kPatienceS});
  for (const Plot& plot : plots) {
    const std::string file = fmt::format("{}/{}.{}", folder, plot.name, kind);
    std::error_code missing;
    if (result.succeeded() && fs::file_size(file, missing) > 0 && !missing) continue;
    throw UnavailableError(fmt::format("error: gnuplot could not draw {}: {}", file, first_line(result.errors)));
  }
}

std::vector<PlotPicture> draw_all(ToolRunner& tools, const Table& table) {
  const ScopedFolder folder("hpcbench-plots-");
  std::vector<Plot> plots;
  for (const PlotKind& kind : plot_kinds()) {
    std::optional<Plot> plot = kind.draw(table);
    if (!plot) continue;
    write_plot_files(*plot, folder.path());
    plots.push_back(std::move(*plot));
  }
  std::vector<PlotPicture> pictures;
  if (plots.empty()) return pictures;
  draw_pictures(tools, plots, folder.path(), "svg");
  for (const Plot& plot : plots) {
    pictures.push_back({plot.name, plot.title, read_file(folder.path() + "/" + plot.name + ".svg")});
  }
  return pictures;
}

}  // namespace hpcbench
