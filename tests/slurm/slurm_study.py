"""Studies on a real Slurm: what their tests share."""
import collections
import contextlib
import os
import pathlib
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_harness import HPCBENCH, SlurmTest, without_hash  # noqa: E402,F401

LONG = os.environ.get("HPCBENCH_LONG") == "1"
SITE = "executor: slurm\n"
STUDY = """
experiment: trivial
command: [bash, -c, 'echo "$1" >> executions; PAUSE', bash, "{{run_dir}}"]
launch: once
matrix: {k: [1, 2, 3, 4]}
repeats: 5
resources: {time: "00:02:00"}
"""


def only_long(tests):
    """unittest finds classes: what is left for --long is none, and so is not counted as skipped."""
    return tests if LONG else None


class SlurmStudyTest(SlurmTest):
    def setUp(self):
        super().setUp()
        self.site = str(self.write("site.yaml", SITE))

    def study(self, pause="true", **replacements):
        text = STUDY.replace("PAUSE", pause)
        for old, new in replacements.items():
            text = text.replace(old, new)
        self.write("trivial.yaml", text)

    def executions(self, name="executions"):
        path = self.folder / name
        lines = path.read_text().splitlines() if path.exists() else []
        return collections.Counter(line.removesuffix("/out") for line in lines)  # attempts' folders

    def run_study(self, *arguments, name="trivial.yaml", code=0, env=None):
        return self.hpcbench("run", name, "--site", self.site, *arguments, code=code, env=env)

    def index(self, experiment):
        """[(attempt, outcome), ...] as the database has them."""
        with contextlib.closing(sqlite3.connect(self.folder / "results/hpcbench.db")) as database:
            return database.execute("SELECT 'a' || attempt, state FROM attempt WHERE experiment = ? ORDER BY attempt", (experiment,)).fetchall()

    def whole_index(self):
        """Every attempt with its series, without the numbers of their rows, which are those of the order of reading."""
        with contextlib.closing(sqlite3.connect(self.folder / "results/hpcbench.db")) as database:
            columns = ", ".join(name for _, name, *_ in database.execute("PRAGMA table_info(attempt)") if name != "id")
            attempts = database.execute(f"SELECT {columns} FROM attempt ORDER BY experiment, path").fetchall()
            series = database.execute("SELECT experiment, path, name, points FROM series JOIN attempt USING (id) ORDER BY 1, 2, 3").fetchall()
        self.assertTrue(attempts)
        return attempts, series

    def rebuilding_changes_nothing(self):
        """What only Slurm knew is on disk, too: an index made again from the run directories is the same."""
        before = self.whole_index()
        self.hpcbench("db", "rebuild")
        self.maxDiff = None
        self.assertEqual(self.whole_index(), before)

    def shown(self, experiment, outcomes):
        """These outcomes, {state: runs}, in `status`, in `report` and in the database."""
        counts = {state: count for state, count in self.status(f"{experiment}.yaml")["counts"].items() if count}
        self.assertEqual(counts, outcomes, "status")
        reported = collections.Counter()
        for row in self.report(f"{experiment}.yaml")["rows"]:
            reported.update({state: count for state, count in row["outcomes"].items() if count})
        self.assertEqual(reported, outcomes, "report")
        with contextlib.closing(sqlite3.connect(self.folder / "results/hpcbench.db")) as database:
            rows = database.execute("SELECT state, count(*) FROM run WHERE experiment = ? GROUP BY state", (experiment,)).fetchall()
        self.assertEqual(dict(rows), outcomes, "database")

    def each_executed_once(self, runs):
        executed = self.executions()
        self.assertEqual({path: n for path, n in executed.items() if n > 1}, {}, "attempts that executed twice")
        counts = collections.Counter(str(pathlib.Path(path).parent) for path in executed.elements())
        self.assertEqual((len(counts), set(counts.values())), (runs, {1}), "runs that executed, and how often")
