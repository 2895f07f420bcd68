"""examples/notebook: kept without outputs, and runs from its first cell to its last. Skipped with the reason without nbclient."""
import importlib.util
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import HPCBENCH, PATIENCE_S, ROOT, StudyTest  # noqa: E402

NOTEBOOK = ROOT / "examples/notebook/results.ipynb"


class Notebook(StudyTest):
    def test_it_holds_no_outputs(self):
        for cell in json.loads(NOTEBOOK.read_text())["cells"]:
            self.assertFalse(cell.get("outputs"), cell["id"])
            self.assertIsNone(cell.get("execution_count"), cell["id"])

    def test_it_runs_and_shows_frames_and_a_plot(self):
        for name in ("nbclient", "ipykernel", "pandas", "matplotlib"):
            if importlib.util.find_spec(name) is None:
                self.skipTest(f"{name} is not installed: pip install nbclient ipykernel pandas matplotlib")
        import nbclient
        import nbformat

        notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.validate(notebook)
        variables = {"HPCBENCH": HPCBENCH, "PYTHONPATH": str(ROOT / "python"), "IPYTHONDIR": str(self.folder / "ipython"),
                     "JUPYTER_RUNTIME_DIR": str(self.folder / "runtime"), "MPLCONFIGDIR": str(self.folder / "matplotlib")}
        client = nbclient.NotebookClient(notebook, timeout=PATIENCE_S, kernel_name="python3", resources={"metadata": {"path": str(self.folder)}})
        client.execute(env={**self.environment(), **variables})
        shown = {cell["id"]: [output.get("data", {}) for output in cell["outputs"]] for cell in notebook.cells if cell.cell_type == "code"}
        self.assertEqual(shown["runs"][0]["text/plain"].count("succeeded"), 12)
        self.assertIn("median_coverage", shown["table"][0]["text/html"])
        self.assertIn("image/png", shown["series"][0])


if __name__ == "__main__":
    unittest.main()
