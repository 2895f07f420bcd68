"""What other tools' example suites measure, as experiment files: examples/coming-from, each with its expected result."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

EXAMPLES = ROOT / "examples/coming-from"
JUBE = EXAMPLES / "jube"
# Of each row in the table's order: the median of the report's metric.
RESULTS = {
    "dependencies": [1, 10, 2, 20, 4, 40],
    "environment": [11, 22],
    "files_and_sub": [1, 2, 4],
    "include": [1, 2, 4],
    "iterations": [1, 2, 4],
    "parameter_dependencies": [3, 5],
    "parameterspace": [1, 1, 2, 2, 4, 4],
    "result_creation": [10, 20, 40],
    "scripting_parameter": [101, 202, 404],
    "scripting_pattern": [1, 4, 16],
    "statistic": [55, 54],
    "tagging": [1],
}


class Example(StudyTest):
    def run_file(self, name, *arguments, of=JUBE):
        """Input files are named from the folder of the file."""
        self.folder = of
        results = ["--results", str(self.results)]
        self.hpcbench("run", f"{name}.yaml", *arguments, *results)
        return self.report(f"{name}.yaml", *arguments, *results)["rows"]

    def setUp(self):
        super().setUp()
        self.results = self.folder / "results"

    def remove_folder(self):
        self.folder = self.results.parent
        super().remove_folder()


class Jube(Example):
    def test_each_example_has_its_result(self):
        names = {path.stem for path in JUBE.glob("*.yaml")} - {"include_data", "hello_world"}
        self.assertEqual(names, set(RESULTS))
        for name, medians in RESULTS.items():
            with self.subTest(name):
                self.assertEqual([row["median"] for row in self.run_file(name)], medians)

    def test_a_text_alone(self):
        self.assertEqual([row["outcomes"] for row in self.run_file("hello_world")], [{"succeeded": 1}])

    def test_tags_combine(self):
        self.assertEqual([row["median"] for row in self.run_file("tagging", "--profile", "deu")], [2])
        self.assertEqual([row["median"] for row in self.run_file("tagging", "--profile", "deu", "--profile", "loud")], [20])

    def test_statistics_within_a_run(self):
        self.run_file("statistic")
        for metric, medians in {"first": [1, 2], "last": [10, 10], "lowest": [1, 2], "highest": [10, 10], "average": [5.5, 6],
                                "matches": [10, 9]}.items():
            rows = self.report("statistic.yaml", "--results", str(self.results), "--metric", metric)["rows"]
            self.assertEqual([row["median"] for row in rows], medians, metric)


class Others(Example):
    def test_reframe_builds_runs_and_checks(self):
        rows = self.run_file("hello", of=EXAMPLES / "reframe")
        self.assertEqual([(row["axes"]["lang"], row["outcomes"]) for row in rows], [("c", {"succeeded": 1}), ("sh", {"succeeded": 1})])
        rows = self.run_file("stream", of=EXAMPLES / "reframe")
        self.assertEqual([row["outcomes"] for row in rows], [{"succeeded": 3}] * 4)
        kernels = [row["axes"]["kernel"] for row in self.report("stream.yaml", "--results", str(self.results))["inner_rows"]]
        self.assertEqual(kernels, ["Copy", "Scale", "Add", "Triad"] * 4)
        self.assertEqual(len(list((self.results / "stream/prepare").iterdir())), 2, "one build for each set of flags")
        strict = self.hpcbench("report", "stream.yaml", "--strict", "--results", str(self.results), "--set", "repeats=3",
                               "--set", "report.references=[{metric: mb_per_s, value: 1e9, low: -1 %}]", code=1)
        self.assertIn("reference-missed", strict.stdout)

    def test_ramble_computes_what_follows(self):
        self.assertEqual([row["n"] for row in self.run_file("hostname", of=EXAMPLES / "ramble")], [2, 2])
        rows = self.run_file("chains", of=EXAMPLES / "ramble")
        self.assertEqual(sorted(row["median"] for row in rows), [1, 1, 2, 2, 2, 2, 4, 4, 8])


if __name__ == "__main__":
    unittest.main()
