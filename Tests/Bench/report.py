# SPDX-License-Identifier: Apache-2.0
"""What was found, as a table, and on what it was found."""

import json
import os
import platform
import re
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from processes import Trouble, program, run

REPOSITORY = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


@dataclass(frozen=True)
class Row:
    """One line of the table.

    `figure` is the measured value in `unit`; `most` and `least` are the limits of the target.
    """

    scenario: str
    what: str
    ours: str = ""
    other: str = ""
    figure: float | None = None
    unit: str = ""
    most: float | None = None
    least: float | None = None
    note: str = ""

    @property
    def target(self):
        if self.most is not None:
            return f"≤ {self.most:g}"
        return f"≥ {self.least:g}" if self.least is not None else "–"

    @property
    def is_missed(self):
        if self.figure is None:
            return False
        too_much = self.most is not None and self.figure > self.most
        return too_much or (self.least is not None and self.figure < self.least)

    @property
    def verdict(self):
        if self.figure is None:
            return "not measured"
        if self.most is None and self.least is None:
            return ""
        return "**missed**" if self.is_missed else "met"

    @property
    def cells(self):
        figure = "" if self.figure is None else f"{self.figure:.2f} {self.unit}".strip()
        what = self.what + (f" ({self.note})" if self.note else "")
        return [self.scenario, what, self.ours, self.other, figure, self.target, self.verdict]


HEADINGS = ["scenario", "what", "Gatehouse", "beside it", "figure", "target", ""]


def microseconds(seconds):
    return f"{seconds * 1e6:.1f} µs"


def milliseconds(seconds):
    return f"{seconds * 1e3:.2f} ms"


def table(rows):
    """The rows in Markdown."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    lines += ["| " + " | ".join(cell.replace("|", "/") for cell in row.cells) + " |" for row in rows]
    return "\n".join(lines)


def line(row):
    """A row for the terminal."""
    scenario, what, ours, other, figure, target, verdict = row.cells
    against = f"{ours} / {other}" if other else ours
    return f"{scenario:13} {what}: {against}  →  {figure}  (target {target}) {verdict.strip('*')}"


def first_line(command, pattern):
    try:
        output = run(command, 20)[1]
    except (Trouble, OSError):
        return "unknown"
    found = re.search(pattern, output)
    return found[1] if found else "unknown"


def commit():
    """The commit of the sources, which the program was built from if it is newer than they are."""
    git = ["git", "-C", str(REPOSITORY)]
    head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
    paths = ["--", "Sources", "Package.swift"]
    changed = subprocess.run([*git, "status", "--porcelain", *paths], capture_output=True, text=True).stdout.strip()
    return (head or "unknown") + (" with changes" if changed else "")


def processor():
    found = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.machine()


def circumstances(command, others):
    """What a figure depends on, by name."""
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": f"{processor()}, {os.cpu_count()} cores, Linux {platform.release()}",
        "Gatehouse": commit(),
        "nginx": first_line([program("nginx", "nginx-light"), "-v"], r"nginx/(\S+)"),
        "OpenSSL": first_line(["openssl", "version"], r"OpenSSL (\S+)"),
        "other programs": f"{others:.0%} of the machine meanwhile",
        "command": command,
    }


def document(rows, facts):
    """The part of docs/performance.md that is written by the benchmark."""
    described = "\n".join(f"- {name}: {f'`{value}`' if name == 'command' else value}" for name, value in facts.items())
    return f"{described}\n\n{table(rows)}"


def write(path, rows, facts):
    """Puts the table between the marks of a document."""
    text = path.read_text()
    if BEGIN not in text or END not in text:
        raise Trouble(f"{path} has no line `{BEGIN}` or no line `{END}`")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n\n{document(rows, facts)}\n\n{END}{after}")


def write_json(path, rows, facts):
    found = [{**asdict(row), "missed": row.is_missed} for row in rows]
    path.write_text(json.dumps({"circumstances": facts, "rows": found}, indent=1, ensure_ascii=False) + "\n")
