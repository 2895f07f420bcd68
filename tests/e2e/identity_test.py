"""Identities of configurations stay: what was measured by an earlier version is kept. tests/golden/identities.txt has those of every
experiment here; HPCBENCH_RENEW_GOLDEN=1 adds those of new files, and never changes or drops one that is there."""
import json
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

GOLDEN = ROOT / "tests/golden/identities.txt"
PROFILES = {"experiments/squad_scaling.yaml": ["full"]}


class Identities(StudyTest):
    def identities(self, file, profile):
        """`FILE PROFILE AXIS=VALUE,...: CONFIG_ID` of each configuration."""
        arguments = ["--profile", profile] if profile else []
        plan = json.loads(self.hpcbench("plan", str(ROOT / file), *arguments, "--format", "json").stdout)
        for row in plan["rows"]:
            implied = {"gpus_per_node": 0 if "ranks_per_node" in row["axes"] else 1}  # a study without GPUs does not show it
            point = ",".join(f"{axis}={value}" for axis, value in sorted({**implied, **row["axes"]}.items()))
            yield f"{file} {profile or '-'} {point}: {row['config_id']}"

    def test_experiments_keep_their_identities(self):
        files = sorted(str(path.relative_to(ROOT)) for folder in ("experiments", "examples") for path in (ROOT / folder).rglob("*.yaml")
                       if "\nexperiment: " in "\n" + path.read_text())  # not what they share
        now = [line for file in files for profile in ["", *PROFILES.get(file, [])] for line in self.identities(file, profile)]
        kept = GOLDEN.read_text().splitlines() if GOLDEN.exists() else []
        if os.environ.get("HPCBENCH_RENEW_GOLDEN") == "1":
            kept += [line for line in now if line not in kept]
            GOLDEN.write_text("\n".join(kept) + "\n")
        self.assertEqual(sorted(now), sorted(kept))


if __name__ == "__main__":
    unittest.main()
