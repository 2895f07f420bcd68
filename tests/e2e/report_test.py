"""Reports and plots as a person asks for them: formats, a lab's own columns, pictures by the real gnuplot, the JSON Schema."""
import csv
import fcntl
import io
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import HPCBENCH, ROOT, StudyTest  # noqa: E402

FORMATS = ["text", "markdown", "latex", "html", "csv", "json"]
HOSTILE = "it's `touch pwned` $(touch pwned) <script>alert(1)</script> \\\"q\\\" \\\\input{x} %_^{/Bold y} @x"
# Writes its own events: times that tell the configurations apart, losses of three epochs, two ranks.
PROGRAM = """#!/bin/bash
strategy=$1 gpus=$2 folder=$(dirname "$HPCBENCH_RUN")
[ "$strategy" = broken ] && exit 3
repeat=$(basename "$(dirname "$folder")"); repeat=${repeat#r}
train=$((80 / gpus + 10#$repeat))
{
  echo '{"v":1,"t":1.0,"rank":0,"event":"run_start","precision":"fp32","world_size":'"$gpus"'}'
  for epoch in 1 2 3; do
    echo '{"v":1,"t":1.0,"rank":0,"event":"epoch","epoch":'$epoch',"epoch_s":1,"train_loss":0.'$((9 - epoch))',"samples":100}'
    echo '{"v":1,"t":1.0,"rank":0,"event":"eval","epoch":'$epoch',"eval_s":0.1,"val_loss":1.'$epoch'}'
  done
  echo '{"v":1,"t":1.0,"rank":0,"event":"run_end","train_s":'$train',"setup_s":2,"data_s":1,"eval_s":3,"communication_s":4,"user_s":20,"sys_s":1,"real_s":30}'
} > "$folder/events.jsonl"
"""
STUDY = """
experiment: shown
description: what reports show
command: ["./program.sh", "{{strategy}}", "{{gpus_per_node}}"]
launch: once
matrix: {strategy: [baseline, ddp, broken], gpus_per_node: [1, 2, 4], note: ["%s"]}
exclude: [{strategy: baseline, gpus_per_node: [2, 4]}, {strategy: broken, gpus_per_node: [1, 4]}]
repeats: 3
baseline: {strategy: baseline}
report: {metric: train_s}
"""

OWN = """
experiment: own
command: [sh, -c, 'echo "score $(( ($1 + 1) % 3 ))"', sh, "{{k}}"]
launch: once
matrix: {k: [1, 2, 3]}
derive: {per: 12 // k}
repeats: 1
metrics: [{name: score, file: stdout.log, pattern: 'score ([0-9]+)'}]
"""


def has_gnuplot():
    return shutil.which("gnuplot") is not None


class Reports(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("program.sh", PROGRAM, 0o755)
        self.write("shown.yaml", STUDY % "plain")
        self.hpcbench("run", "shown.yaml", "--yes", code=1)

    def test_same_bytes_and_rows_in_each_format(self):
        for form in FORMATS:
            first = self.hpcbench("report", "--format", form).stdout
            self.assertEqual(first, self.hpcbench("report", "--format", form).stdout, form)
            self.assertIn("broken", first)
            self.assertIn("failures", first)

    def test_a_shape_of_ones_own(self):
        done = self.hpcbench("report", "--columns", r"strategy=Estrategia,gpus,median=Tiempo\, min,speedup=Speedup,train_s=t,fact:precision",
                             "--time-unit", "min", "--speedup-style", "x", "--sort", "-speedup", "--where", "strategy=ddp|broken",
                             "--format", "csv")
        rows = list(csv.reader(io.StringIO(done.stdout)))
        self.assertEqual(rows[0], ["Estrategia", "gpus", "Tiempo, min", "Speedup", "t", "precision", "warnings"])
        self.assertEqual([row[0] for row in rows[1:]], ["ddp", "ddp", "ddp", "broken"])
        self.assertEqual([row[1] for row in rows[1:4]], ["4", "2", "1"])
        self.assertRegex(rows[1][3], r"^3\.\d+x$")  # 82 s / 22 s
        self.assertEqual(rows[4][2:4], ["", ""])

    def test_where_wins_over_the_key_of_the_file(self):
        for where in ("{strategy: ddp}", "strategy == 'ddp'"):
            told = self.report("--set", f"report.where={where}", "--where", "strategy=broken")
            self.assertEqual({row["axes"]["strategy"] for row in told["rows"]}, {"broken"})
            self.assertEqual({row["axes"]["strategy"] for row in self.report("--set", f"report.where={where}")["rows"]}, {"ddp"})

    def test_rows_are_sorted_by_whatever_a_table_may_show(self):
        self.write("own.yaml", OWN)
        self.hpcbench("run", "own.yaml")
        for key, order in (("score", "231"), ("-metric:score", "132"), ("per", "321"), ("-per,k", "123"), ("column:n,-k", "321")):
            told = self.report("own.yaml", "--sort=" + key)
            self.assertEqual("".join(str(row["axes"]["k"]) for row in told["rows"]), order, key)
            self.assertEqual(self.report("own.yaml", "--set", f"report.sort=[{key}]")["rows"], told["rows"])
        self.assertIn("cannot be sorted by `k=1`", self.hpcbench("report", "own.yaml", "--sort", "k=1", code=2).stderr)
        self.assertIn("cannot be sorted by `scores`, which is no axis, no column and no metric of these runs (did you mean `score`?)",
                      self.hpcbench("report", "own.yaml", "--sort", "scores", code=2).stderr)

    def test_check_places_names_that_are_no_axes(self):
        self.write("own.yaml", OWN + "report: {where: {score: 1}, group_by: [median], sort: [scores]}\n")
        told = self.hpcbench("check", "own.yaml", code=2).stderr
        for said in ("own.yaml:9:18: error: `score` in `report.where` is no axis", "own.yaml:9:40: error: `median` in `report.group_by` is no axis",
                     "own.yaml:9:56: error: `scores` in `report.sort` is neither an axis nor a column (did you mean `score`?)"):
            self.assertIn(said, told)

    def test_nodes_seen_in_csv_and_json_and_as_a_column_that_somebody_asks_for(self):
        header = self.hpcbench("report", "--format", "csv").stdout.splitlines()[0].split(",")
        self.assertEqual(header[-3:], ["nodes_seen", "outcomes", "warnings"])
        self.assertEqual({row["nodes_seen"] for row in json.loads(self.hpcbench("report", "--format", "json").stdout)["rows"]}, {1})
        self.assertNotIn("nodes seen", self.hpcbench("report", "--format", "markdown").stdout)
        self.assertIn("nodes seen", self.hpcbench("report", "--format", "markdown", "--columns", "strategy,nodes_seen").stdout)

    def test_mistakes_are_exit_2_with_advice(self):
        for arguments, advice in ((["--columns", "medain"], "did you mean `median`?"),
                                  (["--sort", "-speedpu"], "did you mean `speedup`?"),
                                  (["--group-by", "strateg"], "did you mean `strategy`?"),
                                  (["--where", "strateg=ddp"], "did you mean `strategy`?"),
                                  (["--time-unit", "hours"], "h:mm:ss"),
                                  (["--columns", ","], "names no column")):
            self.assertIn(advice, self.hpcbench("report", *arguments, code=2).stderr, arguments)

    def test_json_obeys_its_schema(self):
        report = json.loads(self.hpcbench("report", "--format", "json").stdout)
        schema = json.loads((ROOT / "docs/report.schema.json").read_text())
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        jsonschema.validate(report, schema)
        row = next(row for row in report["rows"] if row["axes"]["strategy"] == "ddp")
        del row["median"]
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(report, schema)

    def test_a_file_is_in_the_format_of_its_ending(self):
        for ending, name in (("md", "markdown"), ("tex", "latex"), ("html", "html"), ("csv", "csv"), ("json", "json"), ("txt", "text"), ("out", "text")):
            self.hpcbench("report", "-o", f"by.{ending}")
            self.hpcbench("report", "--format", name, "-o", f"said.{ending}")
            self.assertEqual((self.folder / f"by.{ending}").read_bytes(), (self.folder / f"said.{ending}").read_bytes(), ending)
        for ending, name in (("htm", "html"), ("markdown", "markdown"), ("TeX", "latex"), ("log", "text")):
            self.hpcbench("report", "-o", f"by.{ending}")
            self.hpcbench("report", "--format", name, "-o", f"said.{ending}")
            self.assertEqual((self.folder / f"by.{ending}").read_bytes(), (self.folder / f"said.{ending}").read_bytes(), ending)
        for ending, said in (("pdf", "Pictures are drawn by `hpcbench plot`"), ("xlsx", "Spreadsheets read .csv"), ("doc", "say its --format, too")):
            self.assertIn(said, self.hpcbench("report", "-o", f"no.{ending}", code=2).stderr)
            self.assertFalse((self.folder / f"no.{ending}").exists())
        self.hpcbench("report", "--format", "csv", "-o", "by.html")
        self.assertEqual((self.folder / "by.html").read_bytes(), (self.folder / "said.csv").read_bytes())

    def test_output_file_and_links(self):
        self.hpcbench("report", "--format", "html", "-o", "results/page.html")
        page = (self.folder / "results/page.html").read_text()
        links = re.findall(r'href="(\./[^"]*)"', page)
        self.assertEqual(len(links), 15)
        for link in links:
            self.assertTrue((self.folder / "results" / link).is_dir(), link)
        self.assertNotRegex(page, r'(src|href)="(https?:)?//')

    def test_latex_for_a_document_of_ones_own(self):
        for options in (["--table-only"], ["--caption", "x"], ["--label", "tab:x"], ["--font", "small"], ["--width", "text"]):
            refused = self.hpcbench("report", *options, code=2).stderr
            self.assertIn(f"error: {options[0]} is for LaTeX tables: add --format latex", refused)
            self.hpcbench("report", "--format", "csv", *options, code=2)
        self.assertIn("as in tab:scaling", self.hpcbench("report", "--format", "latex", "--label", "50%", code=2).stderr)
        self.hpcbench("report", "--format", "latex", "--table-only", "--caption", "50% & {more}_", "--label", "tab:my_speed", "-o", "table.tex")
        self.hpcbench("report", "--format", "latex", "--methods", "--provenance", "-o", "whole.tex")
        self.assertIn("--font", self.hpcbench("report", "--format", "latex", "--font", "huge", code=2).stderr)
        self.hpcbench("report", "--format", "latex", "--table-only", "--label", "tab:each", "--group-by", "strategy", "-o", "groups.tex")
        if not shutil.which("pdflatex"):
            self.skipTest("no pdflatex (Debian: texlive-latex-base, texlive-latex-recommended): the tables were not compiled")
        self.write("paper.tex", r"""\documentclass{article}
\usepackage{booktabs,longtable,textcomp}
\usepackage[T1]{fontenc}
\begin{document}
As table \ref{tab:my_speed} and tables \ref{tab:each-1} and \ref{tab:each-2} show.
\input{table}
\input{whole}
\input{groups}
\end{document}
""")
        for _ in range(2):  # references are resolved by the second
            done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"],
                                  cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=120)
            self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        self.assertNotIn("undefined", done.stdout)
        self.assertNotIn("multiply", done.stdout)
        self.assertTrue((self.folder / "paper.pdf").read_bytes().startswith(b"%PDF"))

    @unittest.skipUnless(shutil.which("pdflatex"), "no pdflatex (Debian: texlive-latex-base, texlive-latex-recommended)")
    def test_latex_tables_fit_the_page(self):
        every_column = ",".join(["strategy", "nodes", "n", "median", "interval", "q1", "q3", "min", "max", "speedup", "speedup_interval",
                                 "efficiency", "karp_flatt", "train_loss", "nodes_seen", "outcomes", "config_id"])
        latex = ("report", "--format", "latex", "--table-only")
        self.hpcbench(*latex, "--only", "strategy=ddp", "-o", "paper.tex")
        self.hpcbench(*latex, "--font", "small", "--width", "column", "-o", "column.tex")
        self.hpcbench(*latex, "--font", "footnotesize", "--width", "text", "--columns", every_column, "-o", "text.tex")
        self.hpcbench(*latex, "--columns", every_column, "-o", "wide.tex")
        for columns, tables, fits in (("onecolumn", ["paper", "column", "text"], True), ("twocolumn", ["column", "text"], True),
                                      ("onecolumn", ["wide"], False)):
            self.write("main.tex", r"\documentclass[%s]{article}\usepackage{booktabs,graphicx,longtable,textcomp}"
                       r"\usepackage[T1]{fontenc}\begin{document}%s\end{document}" % (
                           columns, "".join(rf"\input{{{name}}}" for name in tables)))
            done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "main.tex"],
                                  cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=120)
            self.assertEqual(done.returncode, 0, done.stdout[-3000:])
            self.assertEqual("Overfull" not in done.stdout, fits, done.stdout[-3000:])

    def test_a_text_table_fits_the_terminal(self):
        def on_terminal(columns, *arguments):
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
            process = subprocess.Popen([HPCBENCH, "report", *arguments], cwd=self.folder, env=self.environment({"TERM": "xterm"}),
                                       stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE)
            os.close(slave)
            text = b""
            while True:
                try:
                    piece = os.read(master, 65536)
                except OSError:  # the program has closed its end
                    break
                if not piece:
                    break
                text += piece
            os.close(master)
            process.communicate()
            self.assertEqual(process.returncode, 0)
            return text.decode().replace("\r\n", "\n")
        piped = self.hpcbench("report").stdout
        self.assertEqual(on_terminal(400), piped)
        narrow = on_terminal(70)
        self.assertIn("Left out, as the terminal is 70 characters wide: ", narrow)
        head = narrow[:narrow.index("Left out")].rstrip().split("\n\n")[-1].splitlines()
        self.assertLessEqual(max(map(len, head)), 70)
        left_out = re.search(r"wide: (.*?)\. --columns", narrow)[1].split(", ")
        for heading in left_out:
            self.assertNotIn(heading, head[0])
        self.assertIn("speedup_interval", [name.replace(" ", "_") for name in left_out])
        asked = ("--columns", "strategy,nodes,n,median,interval,speedup,speedup_interval,efficiency,outcomes")
        self.assertEqual(on_terminal(70, *asked), self.hpcbench("report", *asked).stdout)

    def test_without_gnuplot(self):
        tools = self.folder / "tools"
        tools.mkdir()
        for tool in ("bash", "git"):
            if shutil.which(tool):
                (tools / tool).symlink_to(shutil.which(tool))
        path = {"PATH": str(tools)}
        done = self.hpcbench("plot", "--kind", "time", env=path, code=3)
        self.assertIn("gnuplot-nox", done.stderr)
        self.assertTrue((self.folder / "plots/time.gp").exists())
        done = self.hpcbench("report", "--format", "html", env=path)
        self.assertIn("gnuplot-nox", done.stdout)
        self.assertIn("gnuplot-nox", done.stderr)


@unittest.skipUnless(has_gnuplot(), "gnuplot is not installed")
class Plots(StudyTest):
    KINDS = ["speedup", "efficiency", "time", "loss", "phases", "timeline"]

    def study(self, note="plain"):
        self.write("program.sh", PROGRAM, 0o755)
        self.write("shown.yaml", STUDY % note)
        self.hpcbench("run", "shown.yaml", "--yes", code=1)

    def texts_of(self, path):
        return ["".join(node.itertext()) for node in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]

    def test_each_kind_is_an_svg_with_its_data_and_script(self):
        self.study()
        done = self.hpcbench("plot", "--out", "figures", "--png")
        for kind in self.KINDS:
            self.assertIn(f"figures/{kind}.svg", done.stdout)
            self.assertTrue((self.folder / f"figures/{kind}.png").read_bytes().startswith(b"\x89PNG"), kind)
            self.assertTrue(self.texts_of(self.folder / f"figures/{kind}.svg"), kind)
        first = {path.name: path.read_bytes() for path in (self.folder / "figures").iterdir()}
        self.hpcbench("plot", "--out", "figures", "--png")
        self.assertEqual(first, {path.name: path.read_bytes() for path in (self.folder / "figures").iterdir()})

    def test_pictures_for_papers_keep_their_text_and_size(self):
        self.study()
        done = self.hpcbench("plot", "--out", "figures", "--pdf", "--eps")
        self.assertNotIn(".png", done.stdout)
        for kind in self.KINDS:
            self.assertIn(f"figures/{kind}.pdf\nfigures/{kind}.eps\n", done.stdout)
            svg = ElementTree.parse(self.folder / f"figures/{kind}.svg").getroot()
            size = [float(svg.get(side)) * 0.75 for side in ("width", "height")]
            pdf, eps = ((self.folder / f"figures/{kind}.{ending}").read_bytes() for ending in ("pdf", "eps"))
            self.assertTrue(pdf.startswith(b"%PDF-") and b"/FontFile" in pdf, kind)
            self.assertTrue(eps.startswith(b"%!PS-Adobe-3.0 EPSF"), kind)
            for box in (re.search(rb"MediaBox \[ 0 0 (\d+) (\d+)", pdf), re.search(rb"BoundingBox: 0 0 (\d+) (\d+)", eps)):
                for points, wanted in zip(map(int, box.groups()), size):
                    self.assertAlmostEqual(points, wanted, delta=1.5)
        script = subprocess.run(["gnuplot", "-e", "pdf=1", "time.gp"], cwd=self.folder / "figures", timeout=60, stdin=subprocess.DEVNULL)
        self.assertEqual(script.returncode, 0)

    def test_a_folder_of_plots_is_not_named_as_a_file(self):
        self.study()
        for name, flag in (("speedup.pdf", " --pdf"), ("a.svg", ""), ("a.jpg", " --png")):
            self.assertIn(f"write --out figures{flag}\n", self.hpcbench("plot", "-o", name, code=2).stderr)
            self.assertFalse((self.folder / name).exists())

    def test_a_person_can_change_a_script_and_run_it(self):
        self.study()
        self.hpcbench("plot", "--kind", "time", "--out", "figures")
        script = self.folder / "figures/time.gp"
        script.write_text(script.read_text().replace("median of", "a title of my own, median of"))
        subprocess.run(["gnuplot", "time.gp"], cwd=self.folder / "figures", check=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertTrue(any("a title of my own" in text for text in self.texts_of(self.folder / "figures/time.svg")))

    def test_names_are_text(self):
        self.study(HOSTILE)
        # The one value of `note` is no column; an axis that varies is: the description and names go everywhere else.
        self.write("shown.yaml", (STUDY % HOSTILE).replace(f'["{HOSTILE}"]', f'["{HOSTILE}", "b"]'))
        self.hpcbench("run", "shown.yaml", "--yes", code=1)
        self.hpcbench("plot", "--out", "figures", "--png")
        page = self.hpcbench("report", "--format", "html").stdout
        self.assertEqual([str(path) for path in self.folder.rglob("*pwned*")], [])
        self.assertNotIn("<script>alert", page)
        for path in (self.folder / "figures").glob("*.svg"):
            self.assertNotIn("<script", path.read_text())
            ElementTree.parse(path)
        texts = self.texts_of(self.folder / "figures/time.svg")
        self.assertTrue(any("%_^{/Bold y} @" in text for text in texts), texts)  # the end of a name that lost its middle

    def test_nothing_to_plot_is_said(self):
        self.study()
        self.assertIn("imbalance", self.hpcbench("plot", "--kind", "imbalance", code=2).stderr)
        self.assertIn("no plot of imbalance", self.hpcbench("plot").stderr)
        self.write("none.yaml", (STUDY % "plain").replace("shown", "none"))
        self.assertIn("no results of none", self.hpcbench("plot", "none.yaml", code=3).stderr)


if __name__ == "__main__":
    unittest.main()
