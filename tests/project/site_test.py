"""The documentation as a site: built by mkdocs without a warning, and nothing in it is loaded from elsewhere."""
import importlib.util
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import browser  # noqa: E402
from harness import PATIENCE_S, ROOT, StudyTest, python_of  # noqa: E402


def python_with_mkdocs():
    """Returns this Python, or that of an environment which is made once; skips the test if that is unavailable."""
    if all(importlib.util.find_spec(name) for name in ("mkdocs", "material")):
        return sys.executable
    return python_of(ROOT / "tests/venv.sh", ROOT / "build/venv-site", ROOT / "tests/project/requirements-site.txt")


class Site(StudyTest):
    def test_it_builds_and_works_offline(self):
        done = subprocess.run([python_with_mkdocs(), "-m", "mkdocs", "build", "--strict", "--site-dir", str(self.folder / "site")], cwd=ROOT,
                              env=self.environment({"NO_MKDOCS_2_WARNING": "1"}), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        pages = sorted((self.folder / "site").rglob("*.html"))
        names = {path.relative_to(self.folder / "site").with_suffix("").as_posix() for path in pages}
        written = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")}
        self.assertEqual(names - {"404"}, written)
        self.assertTrue((self.folder / "site/search/search_index.js").exists())
        for path in pages:
            for loaded in re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]+)"', path.read_text()):
                self.fail(f"{path.name} loads {loaded}")
        self.assertIn('href="../statistics.html"', (self.folder / "site/notes/statistics.html").read_text(), "a note links its page")
        messages = re.findall(r"<tr>\n<td>(.*?)</td>", (self.folder / "site/errors.html").read_text())
        self.assertGreater(len(messages), 300)
        self.assertIn("a list stands right of <code>...</code> alone", messages)
        self.assertIn("there is nothing to plot yet: no run has ended", messages)
        self.assertIn("gnuplot could not draw ...: ...", messages)
        self.search_from_the_disk(self.folder / "site/index.html")

    def search_from_the_disk(self, page):
        """A real browser, the pages opened as files: a word of one page is found there."""
        if browser.find_browser() is None:
            return
        opened = browser.Browser(page.as_uri())
        self.addCleanup(opened.close)
        opened.evaluate("""(() => { document.querySelector('[data-md-toggle=search]').click();
          const field = document.querySelector('[data-md-component=search-query]');
          field.focus(); field.value = 'Hodges'; field.dispatchEvent(new Event('keyup', {bubbles: true})); })()""")
        self.wait_for(lambda: "statistics.html" in (opened.evaluate(
            "[...document.querySelectorAll('.md-search-result__link')].map(link => link.href).join(' ')") or ""), "the search")


if __name__ == "__main__":
    unittest.main()
