"""hpcbench init --from-jube: a benchmark of JUBE is translated, checked and run, and gives its table."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

BENCHMARK = """<jube>
  <benchmark name="work" outpath="out">
    <comment>A chain of two steps</comment>
    <parameterset name="p">
      <parameter name="n" type="int">1,2,4</parameter>
      <parameter name="square" type="int" mode="python">${n}*$n</parameter>
    </parameterset>
    <fileset name="f"><copy>work.in</copy></fileset>
    <substituteset name="s"><iofile in="work.in" out="work.txt"/><sub source="#N#" dest="$n"/></substituteset>
    <patternset name="pats">
      <pattern name="said" type="int">said $jube_pat_int</pattern>
      <pattern name="half" mode="python">$said/2</pattern>
    </patternset>
    <step name="prepared"><use>p</use><do>echo $square</do></step>
    <step name="run" depend="prepared" iterations="2">
      <use>f,s</use>
      <do>cat work.txt prepared/stdout</do>
      <do>echo said $(( $(cat prepared/stdout) + $(cat work.txt) ))</do>
    </step>
    <analyser name="a"><use>pats</use><analyse step="run"><file>stdout</file></analyse></analyser>
    <result><use>a</use><table name="t" sort="n"><column>n</column><column>square</column><column title="Half">half</column></table></result>
  </benchmark>
</jube>
"""
# The first step needs files, and each `do` begins in its step's folder, whatever the one before it did.
BUILD = """<jube>
  <benchmark name="build" outpath="out">
    <parameterset name="p"><parameter name="n" type="int">1,2</parameter></parameterset>
    <fileset name="source"><copy>prog.sh</copy><prepare>mkdir bin</prepare></fileset>
    <fileset name="input"><copy>run.in</copy></fileset>
    <substituteset name="values" init_with="build_base.xml:base"><sub source="#N#" dest="$n"/></substituteset>
    <patternset name="pats"><pattern name="said" type="int">said $jube_pat_int</pattern></patternset>
    <step name="compile"><use>source</use><do>cd bin; cp ../prog.sh .</do><do>test -e bin/prog.sh; mv prog.sh prog</do></step>
    <step name="run" depend="compile">
      <use>p,input,values</use>
      <do work_dir="deep/er">cp ../../run.txt values</do>
      <do>bash compile/bin/prog.sh deep/er/values</do>
    </step>
    <analyser name="a"><use>pats</use><analyse step="run"><file>stdout</file></analyse></analyser>
    <result><use>a</use><table name="t" sort="n"><column>n</column><column>said</column></table></result>
  </benchmark>
</jube>
"""
BASE = """<jube><substituteset name="base"><iofile in="run.in" out="run.txt"/><sub source="#N#" dest="0"/>
  <sub source=" #M# " dest="5"/></substituteset></jube>
"""


class FromJube(StudyTest):
    def test_a_benchmark_runs_and_has_its_table(self):
        self.write("jube/work.xml", BENCHMARK)
        self.write("jube/work.in", "#N#\n")
        done = self.hpcbench("init", "study.yaml", "--from-jube", "jube/work.xml")
        self.assertIn("`hpcbench check` accepts it", done.stdout + done.stderr)
        self.assertEqual((self.folder / "study_work.txt").read_text(), "{{n}}\n")
        self.hpcbench("check", "study.yaml")
        self.hpcbench("run", "study.yaml")
        rows = self.report("study.yaml")["rows"]
        self.assertEqual([(row["axes"]["n"], row["n"], row["median"]) for row in rows], [(1, 2, 1), (2, 2, 3), (4, 2, 10)])
        table = self.hpcbench("report", "study.yaml").stdout
        self.assertIn("Half", table)

    def test_each_step_has_its_own_files_and_folder(self):
        self.write("jube/build.xml", BUILD)
        self.write("jube/build_base.xml", BASE)
        self.write("jube/prog.sh", "echo said $(cat $1)\n")
        self.write("jube/run.in", "#N##M#\n")
        done = self.hpcbench("init", "study.yaml", "--from-jube", "jube/build.xml")
        self.assertIn("`hpcbench check` accepts it", done.stdout + done.stderr)
        self.assertNotIn("note:", done.stdout + done.stderr)
        self.hpcbench("run", "study.yaml")
        rows = self.report("study.yaml")["rows"]
        self.assertEqual([(row["axes"]["n"], row["median"]) for row in rows], [(1, 15), (2, 25)])

    def test_what_it_cannot_say_is_listed_and_refused_until_filled_in(self):
        text = BENCHMARK.replace('mode="python">${n}*$n', 'mode="shell">expr $n \\* $n')
        self.write("work.xml", text)
        self.write("work.in", "#N#\n")
        done = self.hpcbench("init", "study.yaml", "--from-jube", "work.xml", code=1)
        said = done.stdout + done.stderr
        self.assertIn('work.xml:6:7: note: FILL IN square: mode="shell"', said)
        study = (self.folder / "study.yaml").read_text()
        self.assertRegex(study, r"^# yaml-language-server: \$schema=\S+/schema/experiment.json\n# Translated from work.xml", "as `init` has it")
        line = int(re.search(r"^study.yaml:(\d+):\d+: error: .*nothing defines {{square}}", said, re.MULTILINE)[1])
        self.assertIn("{{square}}", study.splitlines()[line - 1])
        self.assertIn("# work.xml:6:7: FILL IN square", study)
        self.hpcbench("check", "study.yaml", code=2)
        (self.folder / "study.yaml").write_text(study + "derive: {square: n * n}\n")
        self.hpcbench("check", "study.yaml")

    def test_nothing_is_overwritten(self):
        self.write("work.xml", BENCHMARK)
        self.write("work.in", "#N#\n")
        self.write("study_work.txt", "mine\n")
        done = self.hpcbench("init", "study.yaml", "--from-jube", "work.xml", code=2)
        self.assertIn("study_work.txt exists already", done.stderr)
        self.assertFalse((self.folder / "study.yaml").exists())

    def test_hostile_files_are_refused_with_their_place(self):
        for text in ("<!DOCTYPE jube [<!ENTITY a 'b'>]><jube/>", "<jube><benchmark", "<html/>", "<a>" * 100_000, " " * 10_000_000,
                     "[" * 10_000, "a: !!python/object:os.system x\n"):
            self.write("bad.xml", text)
            done = self.hpcbench("init", "study.yaml", "--from-jube", "bad.xml", code=2)
            self.assertRegex(done.stderr, r"^bad\.xml:\d+:\d+: error: ")
            self.assertFalse((self.folder / "study.yaml").exists())

    def test_what_is_no_file_is_refused(self):
        for name in ("/dev/zero", "."):
            self.assertIn("error: a benchmark of JUBE is a file", self.hpcbench("init", "study.yaml", "--from-jube", name, code=2).stderr)

    def test_options_belong_together(self):
        self.hpcbench("init", "study.yaml", "--step", "x", code=2)
        self.hpcbench("init", "study.yaml", "--from-jube", "x.xml", "--import", code=2)
        self.assertIn("there is no file", self.hpcbench("init", "study.yaml", "--from-jube", "x.xml", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
