"""scripts/get-data.sh without internet access: a folder of this machine stands for the official homes."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT  # noqa: E402

IMAGES = "mnist-full/t10k-images-idx3-ubyte.gz"
LABELS = "mnist-full/t10k-labels-idx1-ubyte.gz"


@unittest.skipUnless(shutil.which("curl"), "curl is not installed")
class GetData(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-e2e-")).resolve()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in (IMAGES, LABELS):
            (self.folder / "home" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "data/mnist" / pathlib.Path(name).name, self.folder / "home" / name)
        (self.folder / "home/bert-base-uncased").mkdir()

    def get_data(self, *arguments, code=0):
        environment = dict(os.environ, HPCBENCH_DATA_MIRROR=f"file://{self.folder}/home")
        done = subprocess.run([str(ROOT / "scripts/get-data.sh"), "--to", str(self.folder / "to"), *arguments], env=environment, capture_output=True,
                              text=True, timeout=180)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_what_is_there_comes_whole_and_what_is_not_is_said(self):
        done = self.get_data("mnist", code=1)
        for name in (IMAGES, LABELS):
            self.assertEqual((self.folder / "to" / name).read_bytes(), (self.folder / "home" / name).read_bytes())
            self.assertIn(f"ok       {self.folder}/to/{name}", done.stdout)
        self.assertIn("train-images-idx3-ubyte.gz could not be downloaded", done.stderr)
        self.assertEqual(len([path for path in (self.folder / "to").rglob("*") if path.is_file()]), 2)

    def test_a_download_that_was_cut_off_goes_on(self):
        part = self.folder / "to" / (IMAGES + ".part")
        part.parent.mkdir(parents=True)
        whole = (self.folder / "home" / IMAGES).read_bytes()
        part.write_bytes(whole[:len(whole) // 2])
        (self.folder / "home" / IMAGES).write_bytes(b"\0" * (len(whole) // 2) + whole[len(whole) // 2:])  # its first half is not read again
        self.get_data("mnist", code=1)
        self.assertEqual((self.folder / "to" / IMAGES).read_bytes(), whole)
        self.assertFalse(part.exists())

    def test_half_and_changed_files_are_refused(self):
        whole = (self.folder / "home" / IMAGES).read_bytes()
        (self.folder / "home" / IMAGES).write_bytes(whole[:1000])
        done = self.get_data("mnist", code=1)
        self.assertIn("does not give what was published (md5:9fb629c4189551a2d022fa330f9573f3)", done.stderr)
        self.assertFalse((self.folder / "to" / IMAGES).exists())
        (self.folder / "to" / LABELS).write_bytes(b"x")
        done = self.get_data("--check", "mnist", code=1)
        self.assertIn(f"error: {self.folder}/to/{LABELS} is not what was published", done.stderr)
        (self.folder / "home/bert-base-uncased/config.json").write_text('{"model_type": "bert", "hidden_size": 7')
        self.get_data("bert", code=1)
        self.assertFalse((self.folder / "to/bert-base-uncased/config.json").exists())
        (self.folder / "home/bert-base-uncased/config.json").write_text('{"model_type": "bert", "hidden_size": 768}\n')
        self.get_data("bert", code=1)
        self.assertTrue((self.folder / "to/bert-base-uncased/config.json").exists())

    def test_help_list_and_wrong_arguments(self):
        self.assertIn("--data data/squad2 --model data/bert-base-uncased", self.get_data("--help").stdout)
        listed = self.get_data("--list", "squad2").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in listed], ["squad2/train-v2.0.json", "squad2/dev-v2.0.json"])
        self.assertIn("there is no set squad3", self.get_data("squad3", code=2).stderr)
        self.assertIn("unknown option --fast", self.get_data("--fast", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
