"""The golden files in tests/trainers/bert/golden are what transformers and torch give today, and small enough to be checked in.

    python3 -m unittest -v tests/huggingface/golden_test.py
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import environment  # noqa: E402, F401  (may restart this process)
import make_golden  # noqa: E402
from tiny_models import make_config, make_model  # noqa: E402


class GoldenTest(unittest.TestCase):
    def test_golden_files_are_up_to_date(self):
        for name, (shape, seed, length, rows) in make_golden.CASES.items():
            with self.subTest(name=name):
                config = make_config(**shape)
                model = make_model(config, seed)
                expected = make_golden.expect(model, make_golden.make_batch(config, seed, length, rows))
                self.assertEqual(list(make_golden.differences(make_golden.GOLDEN / name, model, expected)), [])

    def test_golden_files_are_small(self):
        self.assertLess(sum(path.stat().st_size for path in make_golden.GOLDEN.rglob("*")), 1.5e6)


if __name__ == "__main__":
    unittest.main()
