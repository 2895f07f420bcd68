"""What tests with containers share: a study `boxed` of one run with two ranks."""
import os
import pathlib
import re
import shutil
import signal
import subprocess

from harness import StudyTest


def copy_program(name, root):
    """Into the tree of an image, with the libraries that it needs at their own places."""
    program = shutil.which(name)
    libraries = re.findall(r"/\S+", subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout)
    for source, target in [(program, f"/bin/{pathlib.Path(name).name}"), *((library, library) for library in libraries)]:
        place = root / target.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(os.path.realpath(source), place)


def sleepers(folder, attempt):
    """Pids of programs `sleep` of an attempt of that number below the folder, by their environment."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (path / "comm").read_text() == "sleep\n" and re.search(f"{re.escape(str(folder))}/[^\0]*/{attempt}/run.json", (path / "environ").read_text()):
                found.append(int(path.name))
        except OSError:
            continue
    return found


class BoxedStudyTest(StudyTest):
    def attempt(self, number=1):
        return next(self.folder.glob("results/boxed/*/r01")) / f"a{number}"

    def check_lost_launcher(self):
        """Of a study whose first attempt sleeps: its launcher is killed, and the run tried again with no program of the first one left."""
        running = self.start("run", "boxed.yaml")
        self.wait_for(lambda: len(sleepers(self.folder, "a1")) == 2, "two programs")
        claim = (self.attempt() / "claim").read_text()
        os.kill(int(re.search(r"^pid (\d+)$", claim, re.M)[1]), signal.SIGKILL)
        running.communicate(timeout=60)
        self.assertEqual(running.returncode, 0)
        self.assertTrue((self.attempt(2) / "finished.json").exists())
        self.assertEqual(sleepers(self.folder, "a1"), [])
