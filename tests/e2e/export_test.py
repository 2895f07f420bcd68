"""hpcbench export: an archive of a study from which another folder, another site and no index make the same report, byte for byte; and what
no archive may do."""
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

STUDY = """
experiment: tiny
command: [bash, work.sh, "{{strategy}}", "{{gpus}}", "{{run_dir}}"]
launch: once
matrix:
  strategy: [slow, fast]
  gpus_per_node: [1, 2]
exclude: [{strategy: slow, gpus_per_node: 2}]
repeats: 2
resources: {time: 60s}
metrics:
  - {name: score_s, file: stdout.log, pattern: 'score ([0-9.]+)', unit: s}
  - {name: total, file: "totals-*.txt", pattern: 'total ([0-9.]+)'}
baseline: {strategy: slow}
report: {metric: score_s, references: [{value: 1, high: 5 %}]}
profiles:
  short: {repeats: 1}
"""
WORK = """
case $1 in slow) base=8 ;; fast) base=4 ;; esac
echo "score $((base / $2)).25"
echo "total 7" > totals-all.txt
mkdir -p "$3/checkpoints" && echo weights > "$3/checkpoints/model.safetensors"
[ "$1 $2" != "fast 2" ] || exit 3
"""
SITE = "name: cluster\nexecutor: local\nsetup: ['export SITE=1']\n"
FORMATS = ("text", "markdown", "csv", "json")


def tar_zst(path, members):
    """An archive of (name, content, type) made by another program."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content, kind in members:
            entry = tarfile.TarInfo(name)
            entry.type = kind
            entry.size = len(content) if kind == tarfile.REGTYPE else 0
            entry.linkname = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            archive.addfile(entry, io.BytesIO(content))
    subprocess.run(["zstd", "-q", "-f", "-o", str(path)], input=plain.getvalue(), check=True)


class Export(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("tiny.yaml", STUDY)
        self.write("work.sh", WORK)
        self.write("sites/cluster.yaml", SITE)

    def reports(self, *arguments):
        return {name: self.hpcbench("report", *arguments, "--format", name).stdout for name in FORMATS}

    def run_and_export(self, *arguments):
        self.hpcbench("run", "tiny.yaml", "--site", "cluster", *arguments, code=1)
        before = self.reports()
        self.hpcbench("export", "-o", "study.tar.zst")
        return before

    def forget_everything_but_the_archive(self):
        for entry in list(self.folder.iterdir()):
            if entry.name != "study.tar.zst":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def test_another_folder_makes_the_same_reports_byte_for_byte(self):
        before = self.run_and_export()
        self.forget_everything_but_the_archive()
        # A site of this machine's own must not get in.
        config = {"XDG_CONFIG_HOME": str(self.write("config/hpcbench/site.yaml", "name: other\nsetup: ['export OTHER=1']\n").parents[1])}
        self.hpcbench("export", "--extract", "study.tar.zst", "--to", "elsewhere", env=config)
        after = {name: self.hpcbench("report", "--results", "elsewhere/results", "--format", name, env=config).stdout for name in FORMATS}
        self.assertEqual(after, before)
        self.assertEqual(json.loads(after["json"])["rows"][2]["outcomes"]["failed"], 2)
        straight = {name: self.hpcbench("report", "--archive", "study.tar.zst", "--format", name, env=config).stdout for name in FORMATS}
        self.assertEqual(straight, before)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["config", "elsewhere", "study.tar.zst"])

    def test_metrics_read_from_the_working_directory_come_along(self):
        self.run_and_export()
        wanted = self.hpcbench("report", "--metric", "total", "--format", "csv").stdout
        self.assertIn("7", wanted)
        self.forget_everything_but_the_archive()
        self.assertEqual(self.hpcbench("report", "--archive", "study.tar.zst", "--metric", "total", "--format", "csv").stdout, wanted)

    def test_imported_runs_need_neither_their_table_nor_words_about_it(self):
        self.write("runs.csv", "x,val_loss\n1,0.5\n2,0.25\n")
        self.write("old.yaml", "experiment: old\nmatrix: {x: [1, 2]}\nimport: [runs.csv]\nreport: {metric: val_loss}\n")
        wanted = self.hpcbench("report", "old.yaml").stdout
        self.hpcbench("export", "old.yaml", "-o", "old.tar.zst")
        plain = subprocess.run(["zstd", "-dc", str(self.folder / "old.tar.zst")], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
            self.assertFalse([name for name in archive.getnames() if name.endswith("lock")])
        done = self.hpcbench("report", "--archive", "old.tar.zst")
        self.assertEqual((done.stdout, done.stderr), (wanted, ""), "no path of the folder that it was unpacked into")
        self.assertIn("`hpcbench report --archive old.tar.zst` reports it", self.hpcbench("report", "old.tar.zst", code=2).stderr)

    def test_profile_and_settings_are_part_of_it(self):
        before = self.run_and_export("--profile", "short", "--set", "matrix.strategy=[slow, fast]")
        self.forget_everything_but_the_archive()
        after = {name: self.hpcbench("report", "--archive", "study.tar.zst", "--format", name).stdout for name in FORMATS}
        self.assertEqual(after, before)

    def test_the_same_results_give_the_same_archive_and_any_tar_reads_it(self):
        self.run_and_export()
        first = (self.folder / "study.tar.zst").read_bytes()
        self.hpcbench("export", "tiny.yaml", "--site", "cluster", "-o", "again.tar.zst")
        self.assertEqual((self.folder / "again.tar.zst").read_bytes(), first)
        plain = subprocess.run(["zstd", "-dc", str(self.folder / "study.tar.zst")], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
            names = archive.getnames()
            self.assertEqual({(m.mtime, m.uid, m.uname) for m in archive.getmembers()}, {(0, 0, "")})
        self.assertEqual(names[0], "archive.json")
        self.assertEqual(names[1:], sorted(names[1:]))
        self.assertFalse([n for n in names if "checkpoints" in n or n.endswith(("/lock", ".db"))])
        self.hpcbench("export", "--models", "-o", "models.tar.zst")
        self.assertGreater((self.folder / "models.tar.zst").stat().st_size, len(first))

    def test_long_paths_and_odd_names(self):
        self.run_and_export()
        folder = next((self.folder / "results/tiny").glob("*/r01/a1"))
        odd = folder / ("tensorboard/" + "long" * 30) / "a b ü'$(x)"
        odd.parent.mkdir(parents=True)
        odd.write_text("here")
        self.hpcbench("export", "-o", "study.tar.zst")
        self.hpcbench("export", "--extract", "study.tar.zst")
        self.assertEqual((self.folder / "study" / odd.relative_to(self.folder)).read_text(), "here")

    def test_a_page_of_an_archive_has_no_links_and_says_so(self):
        self.run_and_export()
        page = self.hpcbench("report", "--format", "html").stdout
        self.assertIn('<a href="./results/tiny/', page)
        self.forget_everything_but_the_archive()
        page = self.hpcbench("report", "--archive", "study.tar.zst", "--format", "html").stdout
        self.assertIn("made from the archive study.tar.zst", page)
        self.assertEqual(re.findall(r'href="(?!#|data:)[^"]*"', page), [])
        self.assertNotIn("hpcbench-archive-", page)
        self.assertIn("fast", page)

    def test_advice_can_be_pasted_into_a_shell(self):
        self.run_and_export()
        said = self.hpcbench("export", "-o", "a b.tar.zst").stderr
        self.assertIn("`hpcbench report --archive 'a b.tar.zst'`", said)
        said = self.hpcbench("export", "--extract", "a b.tar.zst").stderr
        self.assertIn("`hpcbench report --results 'a b/results'`", said)

    def test_an_unpacked_archive_may_be_moved(self):
        self.run_and_export()
        self.hpcbench("export", "--extract", "study.tar.zst", "--to", "unpacked")
        before = self.hpcbench("report", "--results", "unpacked/results").stdout
        named = self.hpcbench("report", "tiny", "--results", "unpacked/results").stdout
        (self.folder / "unpacked").rename(self.folder / "moved")
        self.assertEqual(self.hpcbench("report", "--results", "moved/results").stdout, before)
        self.assertEqual(self.hpcbench("report", "tiny", "--results", "moved/results").stdout, named)

    def test_advice_holds_where_the_archive_is(self):
        self.run_and_export()
        (self.folder / "out").mkdir()
        self.assertIn("`hpcbench report --archive out/a.tar.zst`", self.hpcbench("export", "-o", "out/a.tar.zst").stderr)

    def test_a_file_whose_name_no_archive_may_have_is_left_out(self):
        self.run_and_export()
        before = self.hpcbench("report").stdout
        (next(self.folder.glob("results/tiny/*/r01/a1")) / "two\nlines").write_text("x")
        said = self.hpcbench("export", "-o", "again.tar.zst").stderr
        self.assertIn("note: left out for names that no archive may have: 1 file, the first \"results/tiny/", said)
        self.assertIn("two\\nlines\": its path has control characters", said)
        self.assertEqual(self.hpcbench("report", "--archive", "again.tar.zst").stdout, before)

    def test_a_folder_that_is_there_is_left_alone(self):
        self.run_and_export()
        self.write("full/precious", "x")
        self.assertIn("not an empty folder", self.hpcbench("export", "--extract", "study.tar.zst", "--to", "full", code=2).stderr)
        self.assertEqual([p.name for p in (self.folder / "full").iterdir()], ["precious"])

    def test_a_name_of_another_format_is_refused(self):
        self.run_and_export()
        said = self.hpcbench("export", "-o", "study.zip", code=2).stderr
        self.assertIn("error: `study.zip`: an archive is a tar with zstd, not .zip: end its name with .tar.zst", said)
        self.assertFalse((self.folder / "study.zip").exists())

    def test_nothing_to_export(self):
        self.assertIn("no results of tiny", self.hpcbench("export", "tiny.yaml", code=3).stderr)
        self.assertFalse((self.folder / "tiny.tar.zst").exists())


HEAD = {"schema": 1, "experiment": "tiny", "file": "study/tiny.yaml", "profile": "", "site": "sites/local.yaml", "settings": [], "files": 1, "bytes": 4}


class HostileArchives(StudyTest):
    def refuse(self, members, words, head=None):
        head = json.dumps({**HEAD, **(head or {})}).encode()
        tar_zst(self.folder / "bad.tar.zst", [("archive.json", head, tarfile.REGTYPE), *members])
        before = sorted({p.name for p in self.folder.iterdir()} | {"inside"})
        done = self.hpcbench("export", "--extract", "bad.tar.zst", "--to", "inside/out", code=2)
        self.assertIn(words, done.stderr)
        self.assertFalse((self.folder / "inside/out").exists())
        self.assertEqual(list((self.folder / "inside").glob("*")) if (self.folder / "inside").exists() else [], [])
        self.assertEqual(sorted({p.name for p in self.folder.iterdir()} | {"inside"}), before)
        self.assertEqual(self.hpcbench("report", "--archive", "bad.tar.zst", code=2).stdout, "")

    def test_paths_that_lead_out(self):
        for name in ("../evil", "results/../../evil", "/tmp/evil", "results//x", "./results/x", "results/x\n", "evil", "results/hpcbench.db"):
            with self.subTest(name):
                self.refuse([(name, b"evil", tarfile.REGTYPE)], "refused")

    def test_links_and_devices(self):
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            with self.subTest(kind):
                self.refuse([("results/x", b"", kind)], "refused")

    def test_the_same_path_twice_and_more_or_less_than_it_says(self):
        twice = [("results/x", b"ab", tarfile.REGTYPE)] * 2
        self.refuse(twice, "comes twice", {"files": 2})
        self.refuse(twice, "more than archive.json says")
        self.refuse([("results/x", b"abcde", tarfile.REGTYPE)], "more than archive.json says")
        self.refuse([("results/x", b"abc", tarfile.REGTYPE)], "less than archive.json says")

    def test_heads(self):
        content = [("results/x", b"abcd", tarfile.REGTYPE)]
        self.refuse(content, "may be unpacked", {"bytes": 10 ** 15})
        self.refuse(content, "schema is not 1", {"schema": 2})
        self.refuse(content, "outside", {"site": "../x.yaml"})
        self.refuse(content, "names no experiment", {"experiment": "../x"})
        self.refuse(content, "malformed", {"files": "many"})

    def test_what_is_no_archive(self):
        for content in (b"", b"hello", b"\x28\xb5\x2f\xfd", bytes(5000)):
            (self.folder / "bad.tar.zst").write_bytes(content)
            self.assertIn("not an archive", self.hpcbench("export", "--extract", "bad.tar.zst", code=2).stderr)
        self.hpcbench("export", "--extract", "missing.tar.zst", code=3)

    def test_zeros_without_end_and_what_stands_behind(self):
        head = json.dumps(HEAD).encode()
        tar_zst(self.folder / "good.tar.zst", [("archive.json", head, tarfile.REGTYPE), ("results/x", b"abcd", tarfile.REGTYPE)])
        good = (self.folder / "good.tar.zst").read_bytes()
        plain = subprocess.run(["zstd", "-dc", str(self.folder / "good.tar.zst")], capture_output=True, check=True).stdout
        for name, content in (("trailing", good + b"x"), ("twice", good + good), ("cut", good[:-1])):
            with self.subTest(name):
                (self.folder / "bad.tar.zst").write_bytes(content)
                self.assertIn("not an archive", self.hpcbench("export", "--extract", "bad.tar.zst", code=2).stderr)
        bomb = subprocess.run(["zstd", "-qc"], input=plain + bytes(100_000_000), capture_output=True, check=True).stdout
        (self.folder / "bad.tar.zst").write_bytes(bomb)
        self.assertIn("behind its end", self.hpcbench("export", "--extract", "bad.tar.zst", code=2).stderr)

    def test_damaged_bytes_are_noticed(self):
        head = json.dumps(HEAD).encode()
        tar_zst(self.folder / "good.tar.zst", [("archive.json", head, tarfile.REGTYPE), ("results/x", b"abcd", tarfile.REGTYPE)])
        good = (self.folder / "good.tar.zst").read_bytes()
        for place in range(0, len(good), 7):
            damaged = bytearray(good)
            damaged[place] ^= 0x10
            (self.folder / "bad.tar.zst").write_bytes(damaged)
            done = self.hpcbench("export", "--extract", "bad.tar.zst", "--to", f"out{place}", code=None)
            if done.returncode == 0:  # a bit that means nothing
                self.assertEqual((self.folder / f"out{place}/results/x").read_bytes(), b"abcd")
            else:
                self.assertIn(done.returncode, (2, 3), done.stderr)


if __name__ == "__main__":
    unittest.main()
