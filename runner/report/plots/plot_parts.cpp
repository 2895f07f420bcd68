#include "report/plots/plot_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "report/escapes.hpp"
#include "report/plots/plot_labels.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

constexpr double kCharacterWidth = 7.4;  // of the font below, for the widest usual text
constexpr int kNoteHeight = 16;
constexpr double kPixelsPerInch = 96;

/// Returns the label of a tic: gnuplot reads it as a format, unlike other texts, so `%` is doubled.
std::string tic_label(const std::string& text) {
  std::string doubled;
  for (const char c : text) doubled.append(c == '%' ? 2 : 1, c);
  return gnuplot_string(doubled);
}

}  // namespace

const std::vector<PlotKind>& plot_kinds() {
  static const std::vector<PlotKind> kKinds = {
      {"speedup", "speedup against the number of gpus, ranks, nodes or cores, with intervals and the ideal line", draw_speedup,
       "a `baseline`, rows that succeeded beside it, and a metric that is a time, a rate or has `better`"},
      {"efficiency", "efficiency against the number of gpus, ranks, nodes or cores", draw_efficiency,
       "a `baseline`, rows that succeeded beside it, of another size than the baseline, and a metric that is a time or a rate"},
      {"time", "the metric of each configuration, every run as a dot", draw_time, "runs that have the metric"},
      {"rows", "the metric at each value of `report.rows`, with intervals", draw_rows, "`report: {rows: ..., at: ...}`"},
      {"loss", "training and validation loss of each epoch", draw_loss, "runs that report losses of epochs"},
      {"phases", "what the time of a run is spent on", draw_phases, "runs that report setup_s, data_s, train_s ..."},
      {"timeline", "when each run ran, and how it ended", draw_timeline, "runs that started"},
      {"imbalance", "time of each rank against the mean of all", draw_imbalance, "runs of two or more ranks that report times"},
  };
  return kKinds;
}

std::string_view plot_color(std::size_t index) {
  constexpr std::array<std::string_view, 7> kColors = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                       "#E69F00", "#56B4E9", "#000000"};
  return kColors[index % kColors.size()];
}

int plot_point(std::size_t index) { return 4 + static_cast<int>((index % 7 + index / 7 * 3) % 10); }

std::string plot_number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "-";
}

std::string plot_field(std::string_view text) {
  std::string result;
  for (const char c : visible_text(valid_utf8(text))) result += c == '"' ? '\'' : c;
  return result;
}

std::string plot_head(const PlotFrame& frame) {
  const int height = frame.height + kNoteHeight * static_cast<int>(frame.notes.size());
  std::string out = fmt::format(
      "# Made by hpcbench. Change what you like, then run `gnuplot {0}.gp` in this folder for {0}.svg,\n"
      "# or `gnuplot -e 'png=1' {0}.gp` for {0}.png; `pdf=1` and `eps=1` likewise.\n"
      "reset\n"
      "set encoding utf8\n"
      "if (exists('png')) {{\n"
      "  set terminal pngcairo noenhanced size {1},{2} font 'sans,10' background '#ffffff'\n"
      "  set output '{0}.png'\n"
      "}}\n"
      "if (exists('pdf')) {{\n"
      "  set terminal pdfcairo noenhanced size {4:.3f}in,{5:.3f}in font 'sans,10' fontscale 1 linewidth 1 background "
      "'#ffffff'\n"
      "  set output '{0}.pdf'\n"
      "}}\n"
      "if (exists('eps')) {{\n"
      "  set terminal epscairo noenhanced size {4:.3f}in,{5:.3f}in font 'sans,10' fontscale 1 linewidth 1 background "
      "'#ffffff'\n"
      "  set output '{0}.eps'\n"
      "}}\n"
      "if (!exists('png') && !exists('pdf') && !exists('eps')) {{\n"
      "  set terminal svg noenhanced size {1},{2} font 'Arial,13' background '#ffffff'\n"
      "  set output '{0}.svg'\n"
      "}}\n"
      "set datafile separator \"\\t\"\n"
      "set datafile missing '-'\n"
      "set title {3} noenhanced\n"
      "set border 3\n"
      "set tics nomirror\n"
      "set grid linecolor '#d0d0d0' linewidth 0.5\n",
      frame.name, frame.width, height, gnuplot_string(frame.title, 90), frame.width / kPixelsPerInch, height / kPixelsPerInch);
  for (std::size_t i = 0; i < frame.notes.size(); ++i) {
    const double y = (kNoteHeight * static_cast<double>(frame.notes.size() - i) - 6) / height;
    out += fmt::format("set label {} {} at screen 0.015, screen {:.4f} left textcolor '#555555' noenhanced\n", 900 + i,
                       gnuplot_string(frame.notes[i]), y);
  }
  if (!frame.notes.empty()) {
    out += fmt::format("set bmargin at screen {:.4f}\n", (kNoteHeight * static_cast<double>(frame.notes.size()) + 66) / height);
  }
  return out;
}

int bars_height(std::size_t rows) { return 110 + 26 * static_cast<int>(std::max<std::size_t>(rows, 2)); }

int text_width(std::size_t characters) {
  return static_cast<int>(std::ceil(kCharacterWidth * static_cast<double>(characters)));
}

std::size_t longest(const std::vector<std::string>& texts) {
  std::size_t characters = 0;
  for (const std::string& text : texts) characters = std::max(characters, character_count(text));
  return characters;
}

std::string bar_axis(const BarRows& rows) {
  std::string tics;
  std::string labels;
  for (std::size_t i = 0; i < rows.labels.size(); ++i) {
    tics += fmt::format("{}{} {}", i == 0 ? "" : ", ", tic_label(rows.labels[i]), i);
    if (rows.remarks[i].empty()) continue;
    labels +=
        fmt::format("set label {} {} at graph 1.01, first {} left noenhanced\n", i + 1, gnuplot_string(rows.remarks[i]), i);
  }
  if (!rows.heading.empty()) {
    labels += fmt::format("set label {} {} at screen 0.012, graph 1 left offset 0, 0.6 textcolor '#555555' noenhanced\n",
                          rows.labels.size() + 1, gnuplot_string(rows.heading));
  }
  return fmt::format("set ytics scale 0 noenhanced ({})\nset yrange [{}:-0.6]\n", tics,
                     static_cast<double>(rows.labels.size()) - 0.4) +
         labels;
}

BarRows label_rows(const Table& table, const std::vector<const Row*>& rows) {
  PlotLabels labels = plot_labels(table.columns, rows);
  const std::size_t count = labels.texts.size();
  return {std::move(labels.heading), std::move(labels.texts), std::vector<std::string>(count)};
}

int labels_width(const BarRows& rows) { return text_width(std::max(longest(rows.labels), character_count(rows.heading))); }

std::vector<const Row*> first_rows(const std::vector<const Row*>& rows, std::size_t most, std::vector<std::string>& notes) {
  if (rows.size() <= most) return rows;
  notes.push_back(fmt::format("The first {} of {} configurations; choose others with --only or --sort.", most, rows.size()));
  return {rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(most)};
}

}  // namespace hpcbench
