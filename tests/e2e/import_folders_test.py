"""Imports of folders, JSON and SQLite: what names in paths, sources and tables give, and each way in which they can be wrong."""
import pathlib
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402


class ImportFolders(StudyTest):
    def study(self, entry, matrix="batch: [16, 32]", more=""):
        self.write("s.yaml", f"experiment: s\nmatrix: {{{matrix}}}\nreport: {{metric: t}}\n{more}import:\n  - {entry}\n")

    def tried(self, code=0):
        """Lines of the table of `ingest --dry-run`, and its messages."""
        done = self.hpcbench("ingest", "--experiment", "s.yaml", "--dry-run", code=code)
        self.assertFalse((self.folder / "results").exists())
        return [line.split() for line in done.stdout.splitlines()[1:]], done.stderr

    def log(self, name, t):
        self.write(name, f"t {t}\n")

    metrics = "metrics: [{name: t, pattern: 't (.*)', unit: s}]"

    def test_values_that_hold_literals(self):
        # The model's name holds the literal between the names: only one way of reading has values of the axes.
        self.log("run_my_model_16.txt", 1)
        self.log("run_gpt_32.txt", 2)
        self.study(f"{{files: 'run_{{model}}_{{batch}}.txt', {self.metrics}}}", "model: [my_model, gpt], batch: [16, 32]")
        runs, _ = self.tried()
        self.assertEqual([run[0] + run[1] for run in runs], ["model=gpt,batch=32", "model=my_model,batch=16"])

    def test_two_readings(self):
        self.log("a_b_c.txt", 1)
        self.study(f"{{files: '{{x}}_{{y}}.txt', {self.metrics}}}", "x: [a, a_b], y: [b_c, c]")
        self.assertIn("a_b_c.txt: error: the path can be read as x=a, y=b_c and as x=a_b, y=c", self.tried(code=2)[1])

    def test_equal_values_are_one_run_and_stars_tell_runs_apart(self):
        for day in ("mon", "tue"):
            self.log(f"{day}/16/out.log", 1)
            self.write(f"{day}/16/err.log", f"{day}\n")
        self.study(f"{{files: '*/{{batch}}/*.log', {self.metrics}}}")
        self.assertEqual([run[-3:] for run in self.tried()[0]], [["and", "1", "more"]] * 2)

    def test_a_name_near_an_axis(self):
        self.log("bacth16.txt", 1)
        self.study(f"{{files: 'bacth{{bacth}}.txt', run: {{batch: 16}}, {self.metrics}}}")
        self.assertIn("`{bacth}` is a fact, as no axis has this name (did you mean `batch`?)", self.tried()[1])

    def test_sources(self):
        self.log("a/log", 1)
        self.write("a/conf.yaml", "train: {batch: 16}\n")
        self.write("note.txt", "a cold start\n")
        self.study("{files: '{run}/log', run: {batch: {file: '*.yaml', pointer: /train/batch}}, facts: {start: {file: ../note.txt, pattern: 'a (.*)'}}, " + self.metrics + "}")
        runs, told = self.tried()
        self.assertEqual([run[:4] for run in runs], [["batch=16", "a", "succeeded", "t=1"]], told)
        self.write("a/conf.yaml", "train: {}\n")
        self.assertIn("/a/log: error: no `batch`: nothing is pointer /train/batch in *.yaml of", self.tried(code=2)[1])
        self.write("a/other.yaml", "train: {batch: 32}\n")
        self.write("a/conf.yaml", "train: {batch: 16}\n")
        self.assertIn("no `batch`: conf.yaml:1 has `16`, and other.yaml:1 has `32`", self.tried(code=2)[1])
        self.write("a/other.yaml", "train: [\n")
        self.assertIn("no `batch`: other.yaml: line 2: not YAML", self.tried(code=2)[1])

    def test_outcomes(self):
        for name, word in (("a", "ok"), ("b", "gone"), ("c", "")):
            self.log(f"{name}16/log", 1)
            self.write(f"{name}16/state", word)
        entry = "{files: '*{batch}/log', outcome: {file: state, pattern: .+, is: {IS}}, " + self.metrics + "}"
        self.study(entry.replace("IS", "ok: succeeded, gone: ignore, '': failed"))
        runs, told = self.tried()
        self.assertEqual([run[1:3] for run in runs], [["-", "succeeded"], ["-", "failed"]])
        self.assertIn("1 run is left out, as `outcome` ignores `gone`", told)
        self.study(entry.replace("IS", "ok: succeeded"))
        told = self.tried(code=2)[1]
        self.assertIn("b16/log: error: `gone` is no word of `outcome`, which has: ok", told)
        self.assertIn("c16/log: error: no outcome: nothing is pattern .+ in state of", told)

    def test_yaml_metrics(self):
        self.write("out/result.yaml", "results:\n  - {name: setup, t: 1}\n  - {name: solve, t: 2.5}\n")
        self.study("{files: out/result.yaml, run: {batch: 16}, metrics: [{name: t, pointer: '/results/[name=solve]/t', unit: s}]}")
        self.assertIn("t=2.5", self.tried()[0][0])

    def test_lines_of_runs(self):
        self.write("steps.csv", "id,step,config.batch,t\na,1,16,5\na,2,16,4\nb,1,32,7\na,3,16,6\nb,2,32,\n")
        entry = "{table: steps.csv, columns: {id: id, batch: config.batch, t: t}, take: TAKE}"
        for take, want in (("last", ["t=6", "t=7"]), ("min", ["t=4", "t=7"]), ("mean", ["t=5", "t=7"])):
            self.study(entry.replace("TAKE", take))
            runs, told = self.tried()
            self.assertEqual([run[3] for run in runs], want)
        self.assertIn("steps.csv: left out, as `columns` does not name them: step", told)
        self.write("steps.csv", "id,step,config.batch,t\na,1,16,5\na,2,32,4\n")
        self.assertIn("steps.csv:3: error: `id a` is also at", self.tried(code=2)[1])
        self.study("{table: steps.csv, columns: {batch: config.batch, t: t}, take: last}")
        self.assertIn("steps.csv:1: error: `take` is of the lines of one run, and no column names the run", self.tried(code=2)[1])

    def test_json_lines_and_names_of_tables(self):
        self.write("bs16.jsonl", '{"t": 1.5, "tags": ["x"]}\n\n{"t": null}\n{"t": "2.5"}\n')
        self.study("{table: 'bs{batch}.jsonl', columns: {t: t}}")
        runs, told = self.tried()
        self.assertEqual([run[-2] for run in runs if run[2] == "succeeded"], ["t=1.5", "t=2.5"])
        self.assertIn("bs16.jsonl:4", runs[2][-1])
        self.write("bs16.jsonl", '{"t": 1.5}\n{"t": \n')
        self.assertIn("bs16.jsonl:2: error: not JSON", self.tried(code=2)[1])

    def test_json_with_several_values_of_a_cell(self):
        self.write("a.json", '{"runs": [{"batch": 16, "foms": [{"n": "t", "v": 1}, {"n": "t", "v": 2}]}]}')
        self.study("{table: a.json, rows: '/runs/*', columns: {batch: batch, t: 'foms/[n=t]/v'}}")
        self.assertIn("a.json:1: error: foms/[n=t]/v names 2 values of this row: it must name one", self.tried(code=2)[1])
        self.study("{table: a.json, rows: '/run/*', columns: {batch: batch}}")
        self.assertIn("a.json:1: error: nothing is `rows: /run/*`", self.tried(code=2)[1])

    def test_sqlite(self):
        with sqlite3.connect(self.folder / "m.db") as database:
            database.executescript("CREATE TABLE r(name TEXT, batch INT, t REAL); INSERT INTO r VALUES('a', 16, 1.5), ('b', 32, NULL), ('c', 16, 2.5);")
        database.close()
        self.study("{table: m.db, query: 'SELECT name AS run, batch, t FROM r'}")
        self.assertEqual([run[1] for run in self.tried()[0] if run[2] == "succeeded"], ["a", "c"])
        for query, message in (("SELEC 1", 'near "SELEC": syntax error'), ("DELETE FROM r", "`query` is no SELECT"), ("SELECT 1; SELECT 2", "more than one statement"),
                               ("SELECT batch FROM other", "no such table: other"), ("ATTACH 'x.db' AS x", "`query` ")):
            self.study(f'{{table: m.db, query: "{query}"}}')
            self.assertIn(message, self.tried(code=2)[1])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["m.db", "s.yaml"])
        self.study("{table: m.db}")
        self.assertIn("m.db:1: error: a database needs `query: SELECT ...`", self.tried(code=2)[1])
        self.write("m.db-wal", "something")
        self.study("{table: m.db, query: 'SELECT batch, t FROM r'}")
        self.assertIn("m.db:1: error: m.db-wal holds changes that are not in the file yet", self.tried(code=2)[1])

    def test_keys_that_do_not_fit(self):
        for entry, message in (("{files: a, run: {batch: {pointer: /x, pattern: y}}}", "a source has one of them"),
                               ("{files: a, run: {batch: {file: x}}}", "a source in files needs `pointer` or `pattern`"),
                               ("{files: a, run: {batch: {column: x}}}", "`column` is of a `table`"),
                               ("{values: {t: 1}, run: {batch: {pattern: x}}}", "a source is about the folders of `files`"),
                               ("{table: a.csv, run: {batch: {file: x, pointer: /y}}}", "a `table` gives texts by `column`"),
                               ("{files: a, run: {batch: 16}, rows: /x}", "`rows` is of a `table`"),
                               ("{files: a, run: {batch: 16}, outcome: {pattern: x, is: {x: fine}}}", "`fine` is no outcome"),
                               ("{table: a.csv, columns: {t: a, batch: a}}", "both come from the column `a`"),
                               ("{table: a.csv, take: most}", "`take` knows no `most`")):
            self.study(entry)
            self.assertIn(message, self.hpcbench("check", "s.yaml", code=2).stderr, entry)


if __name__ == "__main__":
    unittest.main()
