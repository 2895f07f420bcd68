"""The four labs: every number that they published, and every warning that hpcbench has for them. docs/labs.md shows a table
and links tests/golden/labs, which has all that is printed; `python3 tests/e2e/labs_test.py --renew` writes both anew, and the diff is to be read."""
import json
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

PAGE = ROOT / "docs/labs.md"
GOLDEN = ROOT / "tests/golden/labs"
BLOCK = re.compile(r"```console\n\$ (hpcbench [^\n]*)\n(.*?)```\n", re.DOTALL)


def table_of(printed):
    """What the page shows of it: the heading and the table, without what follows."""
    return "\n\n".join(printed.split("\n\n")[:2]) + "\n"


class LabTest(StudyTest):
    def setUp(self):
        super().setUp()
        for name in ("experiments", "data", "templates"):
            (self.folder / name).symlink_to(ROOT / name)
        (self.folder / "results").mkdir()
        (self.folder / "results/labs").symlink_to(ROOT / "results/labs")

    def table(self, lab, *arguments):
        return self.report(f"experiments/labs/{lab}.yaml", *arguments)

    def text(self, lab, *arguments):
        return self.hpcbench("report", f"experiments/labs/{lab}.yaml", *arguments).stdout

    def warning(self, table, code, *words):
        """The warning of this code whose text has all the words."""
        texts = [w["seen"] + " " + w["why"] + " " + w["advice"] for w in table["warnings"] if w["code"] == code]
        self.assertTrue(texts, f"no {code} in {[w['code'] for w in table['warnings']]}")
        found = [text for text in texts if all(word in text for word in words)]
        self.assertTrue(found, f"{code} without {words}: {texts}")
        return found[0]

    def cells(self, text, row):
        """The cells of the printed line that begins with these words."""
        lines = [re.split(r" {2,}", line.strip()) for line in text.splitlines() if line.strip().startswith(row)]
        self.assertTrue(lines, f"no line {row!r} in\n{text}")
        return lines

    @staticmethod
    def codes(table):
        return {w["code"] for w in table["warnings"]}


def by_point(table):
    return {(r["axes"]["strategy"], r["gpus"], r["axes"].get("epochs")): r for r in table["rows"]}


class Squad2Fabric(LabTest):
    LOGS = {("baseline", 1, 2): 4108.803859472275, ("dp", 4, 2): 5251.746982097626, ("ddp", 4, 2): 997.4496626853943,
            ("fsdp", 4, 2): 1046.2557353973389, ("deepspeed", 4, 2): 1073.7203888893127, ("ddp", 4, 5): 2500.916507959366}

    def test_times_are_those_of_the_logs(self):
        rows = by_point(self.table("squad2_fabric"))
        for point, seconds in self.LOGS.items():
            self.assertEqual(rows[point]["median"], seconds)
            self.assertEqual((rows[point]["n"], rows[point]["interval"]), (1, None))
        self.assertAlmostEqual(rows["ddp", 4, 2]["ratio_of_medians"], 4108.803859472275 / 997.4496626853943, 12)
        self.assertIsNone(rows["ddp", 4, 5]["ratio_of_medians"], "the baseline was not run with 5 epochs")

    def test_its_own_table_with_the_log_beside_it(self):
        text = self.text("squad2_fabric")
        for published in ("5251.74", "997.45", "1046.26", "1073.72", "2500.92", "5108.80", "2 NVIDIA A100-PCIE-40GB", "Tiempo total de entrenamiento (s)"):
            self.assertIn(published, text)
        self.assertIn("4108.80", text)
        self.assertIn("4.12x", text)

    def test_what_is_wrong_in_it(self):
        table = self.table("squad2_fabric")
        self.warning(table, "published-mismatch", "5108.8", "4108.8")
        self.assertNotIn("5251.74", " ".join(w["seen"] for w in table["warnings"] if w["code"] == "published-mismatch"), "cut, not wrong")
        self.warning(table, "gpus-mismatch", "4", "2")
        self.warning(table, "same-work", "2714")
        self.warning(table, "superlinear", "ddp")
        self.warning(table, "few-repeats")
        self.warning(table, "overfitting", "1.11", "1.43", "1.60", "0.33")
        text = self.text("squad2_fabric")
        for code in ("published-mismatch", "gpus-mismatch", "same-work", "superlinear", "few-repeats", "overfitting"):
            self.assertIn(code, text)

    def test_the_run_out_of_memory_and_the_one_over_its_limit_are_rows(self):
        table = self.table("squad2_fabric")
        rows = by_point(table)
        self.assertEqual(rows["baseline_smp", 1, 2]["outcomes"]["out_of_memory"], 1)
        self.assertEqual(rows["baseline_ilk", 1, 2]["outcomes"]["timeout"], 1)
        self.assertIsNone(rows["baseline_smp", 1, 2]["median"])
        self.warning(table, "failures")

    def test_five_epochs_overfit(self):
        row = by_point(self.table("squad2_fabric"))["ddp", 4, 5]
        self.assertAlmostEqual(row["train_loss"], 0.334998307900506)
        self.assertAlmostEqual(row["validation_loss"], 1.4284107921258458)

    def test_show_traces_the_number_to_its_line(self):
        self.table("squad2_fabric")
        shown = self.hpcbench("show", "squad2_fabric/strategy=baseline").stdout
        line = next(line for line in shown.splitlines() if line.startswith("train_eval_s"))
        self.assertIn("4108.80", line)
        place = re.search(r"baseline_8BS\.out:(\d+)", line)
        self.assertTrue(place, line)
        self.assertIn("labs/squad2_fabric/baseline_8BS.out (sha256 ", shown)
        log = (ROOT / "results/labs/squad2_fabric/baseline_8BS.out").read_text().splitlines()
        self.assertIn("4108.803859472275", log[int(place.group(1)) - 1])


class Squad2Lightning(LabTest):
    def test_published_times_and_speedups(self):
        table = self.table("squad2_lightning")
        rows = {r["axes"]["strategy"]: r for r in table["rows"]}
        self.assertEqual({s: r["median"] for s, r in rows.items()}, {"baseline": 3828, "ddp": 482, "fsdp": 667, "deepspeed": 741})
        self.assertEqual({s: f"{rows[s]['ratio_of_medians']:.2f}" for s in ("ddp", "fsdp", "deepspeed")},
                         {"ddp": "7.94", "fsdp": "5.74", "deepspeed": "5.17"})
        text = self.text("squad2_lightning")
        for printed in ("7.94x", "5.74x", "5.17x", "1:03:48", "0:08:02", "0:11:07", "0:12:21"):
            self.assertIn(printed, text)

    def test_the_speedup_is_not_of_the_gpus_alone(self):
        table = self.table("squad2_lightning")
        self.warning(table, "confounded", "precision")
        self.warning(table, "superlinear", "ddp")
        self.warning(table, "few-repeats")
        for row in table["rows"]:
            if row["axes"]["strategy"] != "baseline":
                self.assertIn("superlinear", row["warnings"])
                self.assertIn("confounded", row["warnings"])


class Squad1Lightning(LabTest):
    PUBLISHED = [("baseline", 1, 1, "12.98", "1.00x"), ("ddp", 1, 1, "13.77", "0.94x"), ("ddp", 1, 2, "7.78", "1.67x"),
                 ("ddp", 2, 4, "4.77", "2.72x"), ("fsdp", 1, 2, "9.99", "1.30x"), ("fsdp", 2, 4, "4.44", "2.92x")]

    def test_the_published_table_to_its_last_digit(self):
        text = self.text("squad1_lightning")
        lines = [re.split(r" {2,}", line.strip()) for line in text.splitlines()]
        for heading in ("Estrategia", "Nodos", "GPUs totales", "Tiempo (min)", "Speedup vs Baseline"):
            self.assertIn(heading, text)
        for strategy, nodes, gpus, minutes, speedup in self.PUBLISHED:
            self.assertIn([strategy, str(nodes), str(gpus), minutes, speedup], lines)

    def test_medians_of_five_have_no_interval_and_are_not_called_single_runs(self):
        table = self.table("squad1_lightning")
        for row in table["rows"]:
            self.assertEqual((row["n"], row["interval"]), (5, None))
        self.assertNotIn("few-repeats", self.codes(table))
        self.assertNotIn("baseline-few", self.codes(table))


class MnistRnnFabric(LabTest):
    def test_the_shares_saved_and_the_total_that_its_ranks_do_not_bear_out(self):
        table = self.table("mnist_rnn_fabric")
        rows = {r["axes"]["strategy"]: r for r in table["rows"]}
        self.assertEqual({s: r["median"] for s, r in rows.items()}, {"baseline": 151, "dp": 121, "ddp": 67})
        self.assertEqual([round(100 * (1 - 1 / rows[s]["ratio_of_medians"])) for s in ("dp", "ddp")], [20, 56])
        seen = self.warning(table, "ranks-disagree", "67", "61.6")
        self.assertNotIn("121", seen, "dp's total is that of its slowest process")
        text = self.text("mnist_rnn_fabric")
        for printed in ("20 %", "56 %", "0:02:01", "0:01:07"):
            self.assertIn(printed, text)


class LaptopProfiles(LabTest):
    def test_each_study_and_its_laptop_profile_are_right(self):
        for lab, points, small in (("squad2_fabric", 8, 5), ("squad2_lightning", 7, 4), ("squad1_lightning", 6, 4), ("mnist_rnn_fabric", 3, 3)):
            with self.subTest(lab):
                self.assertIn(f"ok: {points} configurations", self.hpcbench("check", f"experiments/labs/{lab}.yaml").stdout)
                self.assertIn(f"ok: {small} configurations", self.hpcbench("check", f"experiments/labs/{lab}.yaml", "--profile", "laptop").stdout)

    def test_a_laptop_profile_trains_here(self):
        self.hpcbench("run", "experiments/labs/mnist_rnn_fabric.yaml", "--profile", "laptop", "--set", "repeats=1", "--set", "parameters.epochs=1")
        rows = self.report()["rows"]
        self.assertEqual([r["outcomes"] for r in rows], [{"succeeded": 1}] * 3)
        shown = self.hpcbench("show", "strategy=ddp,gpus_per_node=2/r01").stdout
        self.assertRegex(shown, r"(?m)^train_s .* from events(\.1)?\.jsonl:\d+ \(run_end\)$")
        self.assertRegex(shown, r"(?m)^val_loss .* from events\.jsonl:\d+ \(eval\)$")
        self.assertRegex(shown, r"(?m)^wall_s .* from finished\.json$")
        self.assertRegex(shown, r"(?m)^command .*hpcbench-train'? run$")
        self.hpcbench("run", "experiments/labs/squad2_fabric.yaml", "--profile", "laptop", "--set", "repeats=1", "--set", "parameters.max_train_examples=32",
                      "--set", "parameters.max_length=64", "--set", "parameters.doc_stride=16", env={"XDG_CACHE_HOME": str(self.folder / "cache")})
        rows = self.report()["rows"]
        self.assertEqual([(r["axes"]["strategy"], r["outcomes"]) for r in rows],
                         [(s, {"succeeded": 1}) for s in ("baseline", "dp", "ddp", "fsdp", "deepspeed")])


class Page(LabTest):
    def test_the_page_shows_what_is_printed(self):
        page = PAGE.read_text()
        ((command, shown),) = BLOCK.findall(page)
        self.assertEqual(table_of(self.hpcbench(*command.split()[1:]).stdout), shown)
        for path in sorted(GOLDEN.glob("*.txt")):
            with self.subTest(path.stem):
                printed = self.text(path.stem)
                self.assertEqual(printed, path.read_text())
                self.assertIn(f"tests/golden/labs/{path.name}", page)
                for code in re.findall(r"^  ([a-z]+-?[a-z]+): ", printed, re.MULTILINE):
                    self.assertIn(f"`{code}`", page)

    def test_twice_is_the_same_and_nothing_more_is_taken_in(self):
        first = self.text("squad2_fabric", "--format", "markdown")
        runs = sorted(p.parent.name for p in (self.folder / "results/squad2_fabric").glob("*/*/a*/run.json"))
        self.assertEqual(self.text("squad2_fabric", "--format", "markdown"), first)
        self.hpcbench("db", "rebuild")
        self.assertEqual(self.text("squad2_fabric", "--format", "markdown"), first)
        self.assertEqual(sorted(p.parent.name for p in (self.folder / "results/squad2_fabric").glob("*/*/a*/run.json")), runs)
        self.assertEqual(len(runs), 8)

    def test_an_archive_of_a_lab_makes_the_same_report(self):
        first = self.text("squad2_fabric")
        self.hpcbench("export", "experiments/labs/squad2_fabric.yaml", "-o", "lab.tar.zst")
        self.assertEqual(self.hpcbench("report", "--archive", "lab.tar.zst").stdout, first)


def renew():
    test = Page("test_the_page_shows_what_is_printed")
    test.setUp()
    try:
        for path in GOLDEN.glob("*.txt"):
            path.write_text(test.text(path.stem))
        page = PAGE.read_text()
        for command, shown in BLOCK.findall(page):
            page = page.replace(shown, table_of(test.hpcbench(*command.split()[1:]).stdout))
        PAGE.write_text(page)
    finally:
        test.doCleanups()


if __name__ == "__main__":
    if "--renew" in sys.argv:
        renew()
    else:
        unittest.main()
