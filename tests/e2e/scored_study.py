"""A study of six short runs that print a score, for tests of how results are read."""
from harness import StudyTest

STUDY = """
experiment: tiny
command: [bash, work.sh, "{{size}}"]
launch: once
matrix: {size: [1, 2]}
repeats: 3
"""
# Each run leaves a line in `executions`, then prints what METRIC finds and WRONG does not.
WORK = 'echo "$1" >> executions\necho "score $1.5"\necho "all is well"\n'
METRIC = "metrics: [{name: score, file: stdout.log, pattern: 'score ([0-9.]+)'}]\n"
WRONG = "metrics: [{name: score, file: stdout.log, pattern: 'Score: ([0-9.]+)'}]\n"


class ScoredStudyTest(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("work.sh", WORK)
