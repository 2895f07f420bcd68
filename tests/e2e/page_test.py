"""The HTML report in a real browser: no error on its console, tables that sort by a click, light and dark, no network."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from browser import Browser, find_browser  # noqa: E402
from harness import StudyTest  # noqa: E402
from report_test import HOSTILE, PROGRAM, STUDY, has_gnuplot  # noqa: E402


def rgb(text):
    return [int(part) for part in re.findall(r"\d+", text)[:3]]


def contrast(one, other):
    """The contrast ratio of WCAG 2.1, 1 to 21."""
    def luminance(text):
        parts = [part / 255 for part in rgb(text)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@unittest.skipUnless(find_browser(), "no Chromium is installed (Debian: chromium-headless-shell)")
class Page(StudyTest):
    def open_page(self, note):
        self.write("program.sh", PROGRAM, 0o755)
        self.write("shown.yaml", (STUDY % note).replace("what reports show", "<script>alert(2)</script> & <b>bold</b>"))
        self.hpcbench("run", "shown.yaml", "--yes", code=1)
        self.hpcbench("report", "--format", "html", "--methods", "--provenance", "-o", "page.html")
        browser = Browser((self.folder / "page.html").as_uri())
        self.addCleanup(browser.close)
        return browser

    def column(self, browser, table, heading):
        return browser.evaluate(f"""(() => {{
            const table = document.querySelectorAll('table.sortable')[{table}];
            const at = [...table.tHead.rows[0].cells].findIndex(cell => cell.textContent.startsWith('{heading}'));
            return [...table.tBodies[0].rows].map(row => row.cells[at].textContent); }})()""")

    def click(self, browser, table, heading):
        browser.evaluate(f"""(() => {{
            const table = document.querySelectorAll('table.sortable')[{table}];
            [...table.tHead.rows[0].cells].find(cell => cell.textContent.startsWith('{heading}')).querySelector('button').click(); }})()""")

    def test_page(self):
        browser = self.open_page("plain")
        self.assertEqual(browser.complaints(), [])
        self.assertEqual(browser.evaluate("document.title"), "shown")

        before = self.column(browser, 0, "median")
        self.assertEqual(before, ["82", "82", "42", "22", "-"])
        self.click(browser, 0, "median")
        self.assertEqual(self.column(browser, 0, "median"), ["22", "42", "82", "82", "-"])
        self.click(browser, 0, "median")  # what is absent stays last
        self.assertEqual(self.column(browser, 0, "median"), ["82", "82", "42", "22", "-"])
        self.click(browser, 0, "strategy")
        self.assertEqual(self.column(browser, 0, "strategy"), ["baseline", "broken", "ddp", "ddp", "ddp"])
        self.assertEqual(browser.evaluate("document.querySelectorAll('th[aria-sort=ascending]').length"), 1)

        self.assertEqual(len(self.column(browser, 1, "run")), 15)
        self.click(browser, 1, "outcome")
        self.assertEqual(self.column(browser, 1, "outcome")[0], "failed")
        link = browser.evaluate("document.querySelector('#runs a').href")
        self.assertTrue(link.startswith(self.folder.as_uri() + "/results/shown/"), link)
        self.assertEqual(browser.complaints(), [])

    def test_light_dark_and_accessible(self):
        browser = self.open_page("plain")
        colors = []
        for scheme in ("light", "dark"):
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            colors.append(browser.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color].join()"))
        self.assertEqual(colors[0], "rgb(255, 255, 255),rgb(27, 31, 36)")
        self.assertEqual(colors[1], "rgb(17, 21, 26),rgb(230, 237, 243)")
        for what, expression in (
                ("a table without a caption", "[...document.querySelectorAll('table')].filter(t => !t.caption).length"),
                ("a picture without a name", "[...document.querySelectorAll('svg')].filter(s => !s.getAttribute('aria-label')).length"),
                ("a header without a scope", "[...document.querySelectorAll('th')].filter(h => !h.scope).length"),
                ("an id twice", "(() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id); return ids.length - new Set(ids).size; })()"),
                ("a link within the page to nowhere", "[...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.getAttribute('href'))).length")):
            self.assertEqual(browser.evaluate(expression), 0, what)
        self.assertEqual(browser.evaluate("document.documentElement.lang"), "en")
        if has_gnuplot():
            self.assertGreaterEqual(browser.evaluate("document.querySelectorAll('figure svg').length"), 6)
            # Symbols are references within their own picture.
            self.assertEqual(browser.evaluate("[...document.querySelectorAll('use')].filter(u => !document.querySelector(u.getAttribute('href') || u.getAttribute('xlink:href'))).length"), 0)
        self.assertEqual(browser.complaints(), [])

    def test_answer_first_and_details_folded(self):
        browser = self.open_page("plain")
        self.assertEqual(browser.evaluate("document.querySelector('main').firstElementChild.id"), "answer")
        answer = browser.evaluate("document.querySelector('#answer').innerText")
        self.assertIn("n = 3", answer)
        self.assertIn("warnings", answer)
        self.assertEqual(browser.evaluate("document.querySelectorAll('details[open]').length"), 0)
        self.assertGreaterEqual(browser.evaluate("document.querySelectorAll('details').length"), 3)

    @unittest.skipUnless(has_gnuplot(), "gnuplot is not installed")
    def test_plots_follow_the_dark(self):
        browser = self.open_page("plain")
        series = ["0072b2", "d55e00", "009e73", "cc79a7", "e69f00", "56b4e9", "000000"]
        shown = {}
        for scheme in ("light", "dark"):
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.assertEqual(browser.evaluate("[...document.querySelectorAll('figure, figure svg')].filter(e => getComputedStyle(e).filter !== 'none').length"), 0)
            paper, text = browser.evaluate("""(() => {
                const svg = document.querySelector('#plot-speedup svg');
                return [getComputedStyle(svg.querySelector('rect')).fill, getComputedStyle(svg.querySelector('text').parentElement).fill]; })()""")
            self.assertEqual(paper, browser.evaluate("getComputedStyle(document.body).backgroundColor"), "a picture is of the page's paper")
            self.assertGreater(contrast(text, paper), 7, (scheme, text, paper))
            shown[scheme] = [browser.evaluate(f"""(() => {{
                const probe = document.querySelector('#plot-speedup svg').appendChild(document.createElementNS('http://www.w3.org/2000/svg', 'g'));
                probe.setAttribute('fill', 'var(--plot-{name},#{name})');
                const color = getComputedStyle(probe).fill; probe.remove(); return color; }})()""") for name in series]
        used = browser.evaluate("[...document.querySelectorAll('#plot-speedup [stroke^=\"var(--plot-\"], #plot-speedup [color^=\"var(--plot-\"]')].length")
        self.assertGreater(used, 10)
        for one, other in zip(shown["light"], shown["dark"]):
            self.assertNotEqual(one, other)
        for color in shown["dark"]:
            self.assertGreater(contrast(color, "rgb(17, 21, 26)"), 4.5, color)
        for i, one in enumerate(shown["dark"]):  # no two that an eye would take for one
            for other in shown["dark"][:i]:
                self.assertGreater(sum(abs(a - b) for a, b in zip(rgb(one), rgb(other))), 60, (one, other))

    def test_what_is_wider_than_the_screen_says_so(self):
        self.write("page.yaml", """
experiment: wide
command: ["true"]
matrix: {strategy: [baseline, distributed_data_parallel_with_overlap]}
baseline: {strategy: baseline}
report: {metric: train_s, time_unit: min}
import: [old/runs.csv]
""")
        lines = [f"{strategy},{90 + 30 * i}\n" for strategy in ("baseline", "distributed_data_parallel_with_overlap") for i in range(6)]
        self.write("old/runs.csv", "strategy,train_s\n" + "".join(lines))
        self.hpcbench("report", "page.yaml", "--format", "html", "-o", "page.html")
        browser = Browser((self.folder / "page.html").as_uri())
        self.addCleanup(browser.close)
        browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        wide = "[...document.querySelectorAll('.scroll, figure')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        for width in (390, 1280):
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            self.assertLessEqual(browser.evaluate("document.documentElement.scrollWidth"), width)
            self.assertEqual(browser.evaluate(f"{wide}.length > 0"), width == 390)
            # The page marks them when it hears of the new size.
            marked = f"{wide}.every(e => e.classList.contains('more')) && document.querySelectorAll('.more').length == {wide}.length"
            self.wait_for(lambda: browser.evaluate(marked), "a mark on each wide box and on no other")
            share = browser.evaluate("(() => { const cell = document.querySelector('#tables td'); return cell.offsetWidth / cell.closest('.scroll').clientWidth; })()")
            self.assertLess(share, 0.5, "the column that stays in sight leaves room for others")
        # Values of runs are in the table's unit, and imported runs name their file and line.
        self.assertEqual(self.column(browser, 1, "train_s (min)")[:2], ["1.5", "2"])
        self.assertIn("old/runs.csv:2", self.column(browser, 1, "run")[0])
        self.assertEqual(self.column(browser, 1, "wall_s (min)")[0], "-")
        self.assertNotIn("printed_", browser.evaluate("document.querySelector('#environment').textContent"))

    def test_nothing_is_said_twice(self):
        browser = self.open_page("plain")
        # Pictures are made to stand alone, and tables repeat what they are of; all else is read from top to bottom.
        texts = browser.evaluate("""(() => {
            document.querySelectorAll('details').forEach(details => { details.open = true; });
            const lines = [];
            document.querySelectorAll('h1, h2, p, li, summary').forEach(element => { if (!element.closest('figure')) { lines.push(element.innerText); } });
            return lines; })()""")
        sentences = [s.strip() for text in texts for s in re.split(r"(?<=[.!?])\s|\n", text)]
        long = [s for s in sentences if len(s) >= 40]
        self.assertGreater(len(long), 20)
        self.assertEqual(sorted({s for s in long if long.count(s) > 1}), [])

    def test_a_link_opens_what_is_folded(self):
        browser = self.open_page("plain")
        self.assertFalse(browser.evaluate("document.querySelector('#runs').open"))
        browser.evaluate("document.querySelector('nav a[href=\"#runs\"]').click()")
        self.assertEqual(browser.complaints(), [])  # waits, too
        self.assertTrue(browser.evaluate("document.querySelector('#runs').open"))

    @unittest.skipUnless(has_gnuplot(), "gnuplot is not installed")
    def test_plots_have_room(self):
        browser = self.open_page("plain")
        for width in (390, 768, 1280, 1920):
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            self.assertLessEqual(browser.evaluate("document.documentElement.scrollWidth"), width)
            least = browser.evaluate("Math.min(...[...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width))")
            self.assertGreaterEqual(least, 0.7, f"words of a plot are too small at {width}")
            most = browser.evaluate("Math.max(...[...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width))")
            self.assertLessEqual(most, 1.01)
        columns = browser.evaluate("new Set([...document.querySelectorAll('figure')].map(f => Math.round(f.getBoundingClientRect().left))).size")
        self.assertEqual(columns, 2)

    def test_narrow(self):
        browser = self.open_page("plain")
        browser.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=False)
        self.assertLessEqual(browser.evaluate("document.documentElement.scrollWidth"), 390)
        self.assertTrue(browser.evaluate("(() => { const box = document.querySelector('#tables .scroll'); return box.scrollWidth > box.clientWidth; })()"))
        self.assertEqual(browser.evaluate("getComputedStyle(document.querySelector('#tables td.axis:not(:first-child)')).whiteSpace"), "nowrap")
        left = browser.evaluate("""(() => {
            const box = document.querySelector('#tables .scroll');
            box.scrollLeft = 200;
            return document.querySelector('#tables td').getBoundingClientRect().left - box.getBoundingClientRect().left; })()""")
        self.assertEqual(left, 0, "which row it is stays in sight")

    def test_nothing_is_cut_on_paper(self):
        browser = self.open_page("plain")
        browser.call("Emulation.setDeviceMetricsOverride", width=720, height=1000, deviceScaleFactor=1, mobile=False)
        browser.call("Emulation.setEmulatedMedia", media="print")
        browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        cut = browser.evaluate("[...document.querySelectorAll('.scroll table, figure svg')].filter(e => e.getBoundingClientRect().right > 721).length")
        self.assertEqual(cut, 0)
        self.assertEqual(browser.evaluate("[...document.querySelectorAll('.scroll, figure')].filter(e => getComputedStyle(e).overflowX !== 'visible').length"), 0)

    def test_names_are_text(self):
        browser = self.open_page(HOSTILE)
        self.assertEqual(browser.complaints(), [])
        self.assertEqual(browser.evaluate("document.querySelectorAll('script').length"), 1)
        self.assertEqual(browser.evaluate("document.querySelectorAll('b').length"), 0)
        self.assertIn("<script>alert(2)</script>", browser.evaluate("document.body.innerText"))


if __name__ == "__main__":
    unittest.main()
