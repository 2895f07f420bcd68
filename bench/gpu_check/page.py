"""The report as one page of HTML that needs nothing else."""
import html

STYLE = """:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
td, th { border-bottom: 1px solid #8885; padding: .3rem .6rem; text-align: left; vertical-align: top; }
td.passed { color: #188038; } td.failed { color: #c5221f; font-weight: 600; } td.not { color: #80868b; }
pre { white-space: pre-wrap; margin: 0; font-size: .85em; } summary { cursor: pointer; }
@media (prefers-color-scheme: dark) { td.passed { color: #81c995; } td.failed { color: #f28b82; } }"""
KEPT_APART = ("name", "status", "why", "text", "facts", "numbers")


def shown(value):
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {shown(each)}" for key, each in value.items())
    if isinstance(value, list):
        return "[" + ", ".join(shown(each) for each in value) + "]"
    return str(value)


def details(row):
    words = "; ".join(f"{name} {shown(value)}" for name, value in row.items() if name not in KEPT_APART)
    cell = html.escape("; ".join(part for part in (row.get("why", ""), words) if part))
    if "text" in row:
        cell += f"<pre>{html.escape(row['text'])}</pre>"
    if "facts" in row:
        facts = "\n".join(f"{name}: {shown(value)}" for name, value in row["facts"].items())
        cell += f"<details><summary>facts</summary><pre>{html.escape(facts)}</pre></details>"
    return cell


def html_of(report):
    parts = [f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'><title>hpcbench gpu-check</title><style>{STYLE}</style>",
             f"<h1>gpu-check: {html.escape(report.get('device_name') or report['device'])}</h1>"]
    if not report["numbers_count"]:
        parts.append("<p><strong>This GPU computes nothing: what is shown is the flow of the check, no measurement.</strong></p>")
    parts.append("<table><tr><th>step<th>outcome<th>seconds<th>")
    for step in report["steps"]:
        parts.append(f"<tr><td><a href='#{step['name']}'>{step['name']}</a><td class='{step['status']}'>{step['status']}<td>{step['seconds']}<td>{html.escape(step['reason'])}")
    parts.append("</table>")
    for step in report["steps"]:
        parts.append(f"<h2 id={step['name']}>{html.escape(step['question'])}</h2><table>")
        for row in step["rows"]:
            parts.append(f"<tr><td>{html.escape(row['name'])}<td class='{row['status']}'>{row['status']}<td>{details(row)}")
        parts.append("</table>")
    return "\n".join(parts) + "\n"
