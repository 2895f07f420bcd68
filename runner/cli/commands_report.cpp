#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <system_error>

#include "archive/archive.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/report_view.hpp"
#include "cli/study_options.hpp"
#include "imports/import_runs.hpp"
#include "ingest/imported.hpp"
#include "render/attempt.hpp"
#include "report/plots/gnuplot.hpp"
#include "report/table.hpp"

namespace hpcbench {

namespace {

struct PrintOptions {
  StudyOptions study;
  ViewOptions view;
  std::string format;   // empty: not given
  std::string file;     // empty: standard output
  std::string archive;  // report of this one
  bool strict = false;
  LatexStyle latex;
};

/// Without --format that of the file's ending; text without either. InputError for an ending of no format.
std::string format_of(const PrintOptions& options) {
  if (!options.format.empty()) return options.format;
  std::string ending = std::filesystem::path(options.file).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (ending == ".htm") ending = ".html";
  if (ending == ".markdown") ending = ".md";
  if (ending == ".log" || ending == ".out") ending = ".txt";
  std::vector<std::string> endings;
  for (const ReportFormat& known : report_formats()) {
    if (ending == known.ending) return known.name;
    endings.emplace_back(known.ending);
  }
  std::error_code error;
  if (ending.empty() || std::filesystem::is_other(std::filesystem::status(options.file, error))) return "text";
  constexpr std::array kPictures = {".pdf", ".svg", ".png", ".eps"};
  const bool is_picture = std::find(kPictures.begin(), kPictures.end(), ending) != kPictures.end();
  throw InputError(fmt::format("error: -o {}: no report is written as {}; name the file {}, or say its --format, too{}",
                               options.file, ending, join(endings, ", "),
                               is_picture                              ? ". Pictures are drawn by `hpcbench plot`"
                               : ending == ".xlsx" || ending == ".ods" ? ". Spreadsheets read .csv"
                                                                       : ""));
}

void check_latex_options(const LatexStyle& style, const std::string& format) {
  const std::string used = style.table_only         ? "--table-only"
                           : !style.caption.empty() ? "--caption"
                           : !style.label.empty()   ? "--label"
                           : !style.font.empty()    ? "--font"
                           : !style.width.empty()   ? "--width"
                                                    : "";
  if (!used.empty() && format != "latex")
    throw InputError(fmt::format("error: {} is for LaTeX tables: add --format latex", used));
  if (!style.label.empty() && !is_latex_label(style.label)) {
    throw InputError(
        fmt::format("error: --label `{}`: TeX takes letters, digits and `: . - _ / +` there, as in tab:scaling", style.label));
  }
}

/// Names the files of imported runs, relative to the experiment file's folder where they are below it; the methods name them,
/// too.
void name_sources(Table& table, const Study& study) {
  const std::filesystem::path home = std::filesystem::path(study.source.file).parent_path();
  std::set<std::string> files;
  long long values = 0;
  for (Row& row : table.rows) {
    for (std::vector<RunValue>* const runs : {&row.runs, &row.set_aside}) {
      for (RunValue& run : *runs) {
        if (!run.run.is_imported()) continue;
        const std::string folder = study.results + "/" + to_string(AttemptKey{row.config_id, run.run, run.attempt});
        const auto imported = parse_imported(read_file_if_there(folder + "/" + kImportedFile).value_or(""));
        if (!imported) continue;
        const bool is_in_table = runs == &row.runs && run.value;
        values += is_in_table ? 1 : 0;
        std::vector<std::string> names;
        for (const ImportedSource& source : imported->sources) {
          const std::string below = std::filesystem::path(source.path).lexically_relative(home).string();
          const std::string file = below.empty() || below.starts_with("..") ? source.path : below;
          names.push_back(file + (source.line ? fmt::format(":{}", *source.line) : ""));
          if (is_in_table) files.insert(file);
        }
        if (is_in_table && names.empty()) files.insert("values given without a file");
        run.source = join(names, ", ");
      }
    }
  }
  if (values == 0) return;
  table.methods += fmt::format(" {} imported from {}.", counted(values, "value was", "values were"),
                               join({files.begin(), files.end()}, ", "));
}

/// What only a page needs: its frame, its pictures, and the way from it to the run directories, which an archive unpacked for
/// this report alone has not.
void complete_page(PrintSettings& settings, const Table& table, const Study& study, const std::string& file,
                   const std::string& archive) {
  namespace fs = std::filesystem;
  settings.page_template = load_template("report.html.mustache");
  const fs::path here = file.empty() ? fs::current_path() : fs::absolute(file).lexically_normal().parent_path();
  if (archive.empty()) {
    settings.runs_path = fs::path(study.results).lexically_relative(here).string();
  } else {
    settings.runs_note = fmt::format(
        "This page was made from the archive {}: runs have no links to their folders. `hpcbench export --extract` unpacks "
        "them, and a report made there has links.",
        fs::path(archive).filename().string());
  }
  ProcessToolRunner tools;
  if (find_gnuplot(tools, settings.plots_note)) {
    settings.plots = draw_all(tools, table);
    if (settings.plots.empty()) settings.plots_note = "There is nothing to plot yet.";
  } else {
    say("no plots in the page: " + settings.plots_note);
  }
}

bool is_all_well(const Table& table) {
  bool all_well = table.warnings.empty();
  for (const Row& row : table.rows) {
    const StateCounts& outcomes = row.counts.outcomes;
    all_well = all_well && outcomes.all() == outcomes.of(State::succeeded) && row.summary.has_value() && row.warnings.empty();
  }
  return all_well;
}

/// A device or a pipe is written to: a file must not take its place.
void write_report(const std::string& path, const std::string& text) {
  std::error_code error;
  if (!std::filesystem::is_other(std::filesystem::status(path, error)))
    return write_file(path, text, Durability::none, kUserFile);
  std::ofstream stream(path, std::ios::binary);
  stream << text << std::flush;
  if (!stream) throw UnavailableError(fmt::format("error: cannot write {}: {}", path, std::strerror(errno)));
}

int print_report(PrintOptions options) {
  options.format = format_of(options);
  check_latex_options(options.latex, options.format);
  options.view.whole_lists = options.format == "json";
  Study study = load_study(options.study);
  Table table = view_study(study, options.study, options.view);
  if (options.view.methods || options.format == "json" || options.format == "html") name_sources(table, study);
  PrintSettings settings;
  settings.columns_asked = !options.view.columns.empty();
  settings.methods = options.view.methods;
  settings.provenance = options.view.provenance;
  settings.latex = options.latex;
  if (options.file.empty()) settings.terminal_columns = stdout_size().columns;
  if (options.format == "html") complete_page(settings, table, study, options.file, options.archive);
  for (const ReportFormat& known : report_formats()) {
    if (known.name != options.format) continue;
    const std::string text = known.print(table, settings);
    if (options.file.empty()) {
      print_data(text);
    } else {
      write_report(options.file, text);
    }
  }
  if (!study.broken_imports.empty()) return kBrokenImports;
  return options.strict && !is_all_well(table) ? 1 : 0;
}

}  // namespace

void add_report(commandline::Command& command) {
  const auto options = std::make_shared<PrintOptions>();
  std::vector<std::string> formats;
  for (const ReportFormat& known : report_formats()) formats.push_back(known.name);
  add_study_options(command, options->study, FileArgument::optional);
  command.add_option("--format", options->format, join(formats, ", ") + "; by default text, or as -o FILE ends")
      .one_of(formats);
  command
      .add_option("-o,--output", options->file, "write here instead of to standard output: .txt, .md, .tex, .html, .csv, .json")
      .value_name("FILE");
  add_view_options(command, options->view);
  add_table_options(command, options->view);
  command.add_flag("--strict", options->strict,
                   "exit 1 if there is a warning, or a shown row with no value or a run that did not succeed");
  command.add_flag("--table-only", options->latex.table_only,
                   "with --format latex: the tables alone, for a document of one's own");
  command.add_option("--caption", options->latex.caption, "with --format latex: the caption of the table").value_name("TEXT");
  command.add_option("--label", options->latex.label, "with --format latex: the label for \\ref, as in tab:scaling")
      .value_name("TEXT");
  command.add_option("--font", options->latex.font, "with --format latex: the size of its text: " + join(latex_fonts(), ", "))
      .one_of(latex_fonts());
  command
      .add_option("--width", options->latex.width,
                  "with --format latex: a wider table shrinks to one column of the page, or to its text across all columns")
      .one_of({"column", "text"});
  command.add_option("--archive", options->archive, "of an archive that `hpcbench export` made")
      .value_name("ARCHIVE")
      .excludes({"FILE", "--results"});
  command.action([=] {
    std::optional<TemporaryArchive> unpacked;
    if (!options->archive.empty()) {
      options->study.is_unpacked = true;
      options->study.results = unpacked.emplace(options->archive, kArchiveLimitGb * kGigabyte).results();
    }
    return print_report(*options);
  });
}

}  // namespace hpcbench
