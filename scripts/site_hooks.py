"""Hooks of mkdocs: errors.md gets its index, and links to files outside of docs/ become their names."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import message_index  # noqa: E402

INDEX = "<!-- the index: scripts/message_index.py -->"


def named(match):
    text, path = match[1], match[2].split("#")[0]
    return text if text.strip("`") in path else f"{text} (`{path}`)"


def outside(page):
    """Matches a link that leads out of docs/."""
    return re.compile(r"\[([^\]]+)\]\((?:\.\./){%d,}([^)]*)\)" % (page.file.src_uri.count("/") + 1))


def on_page_markdown(markdown, page, config, files):
    return outside(page).sub(named, markdown).replace(INDEX, message_index.table())


# Browsers start no worker from a disk. The search of the theme then uses IFrameWorker, which it would load from the network: this one runs
# a worker's script in a hidden frame, which sends its messages to the page.
WORKER_IN_FRAME = """"use strict";
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    this.inside = frame.contentWindow;
    this.waiting = [];
    addEventListener("message", event => {
      if (event.source !== this.inside || !event.data || !("ofWorker" in event.data)) return;
      const answer = new MessageEvent("message", {data: event.data.ofWorker});
      this.dispatchEvent(answer);
      if (this.onmessage) this.onmessage(answer);
    });
    const page = this.inside.document;
    page.open();
    page.write("<!doctype html><script>self.postMessage = data => parent.postMessage({ofWorker: data}, '*');" +
      "self.importScripts = (...urls) => urls.reduce((done, url) => done.then(() => new Promise((resolve, reject) => {" +
      "const script = document.createElement('script'); script.src = url; script.onload = resolve; script.onerror = reject;" +
      "document.body.append(script)})), Promise.resolve())<" + "/script><script src='" + url + "'><" + "/script>");
    page.close();
    this.inside.addEventListener("load", () => {
      this.ready = true;
      for (const data of this.waiting.splice(0)) this.postMessage(data);
    });
  }
  postMessage(data) {
    if (!this.ready) { this.waiting.push(data); return; }
    this.inside.dispatchEvent(new this.inside.MessageEvent("message", {data}));
  }
  terminate() {}
}
if (location.protocol === "file:") { window.IFrameWorker = IFrameWorker; window.Worker = IFrameWorker; }
"""


def on_post_build(config):
    site = pathlib.Path(config.site_dir)
    (site / "assets/worker-in-frame.js").write_text(WORKER_IN_FRAME)
    for path in site.rglob("*.html"):
        up = "../" * (len(path.relative_to(site).parts) - 1)
        text = path.read_text()
        path.write_text(re.sub(r'https://unpkg\.com/iframe-worker/shim', f"{up}assets/worker-in-frame.js", text))
