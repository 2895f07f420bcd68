"""A case whose studies run a made-up measure.py by the real hpcbench, so that what is measured is known."""
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import study  # noqa: E402


class MadeUpMeasurements(unittest.TestCase):
    MEASURE = ""  # the text of measure.py

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "measure.py").write_text(self.MEASURE)
        self.replace(study, "BENCH", self.folder)

    def replace(self, module, name, value):
        """Until the end of the test."""
        patched = mock.patch.object(module, name, value)
        patched.start()
        self.addCleanup(patched.stop)
