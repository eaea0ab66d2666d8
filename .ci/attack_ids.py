#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the ids of attacks in the tests with their key in Tests/README.md: each is in both. The threat model names only those.

In text an id is written `S-13`, in the name of a Python test `s_13`: `test_s_13_…`, `test_p_10_to_p_14_…`.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEY = "Tests/README.md"
TEXT = re.compile(r"(?<![\w-])([A-IKMNPQRSTUVWXYZ]-\d\d)(?![\w-]|\.\d)")
NAME = re.compile(r"def test_((?:(?:to_)?[a-z]_\d\d_)+)")
ROW = re.compile(r"^\| ([A-Z]-\d\d) \|", re.MULTILINE)
SOURCES = (".py", ".swift", ".c", ".h", ".mjs")


def ids(text):
    """The ids in a test file."""
    found = set(TEXT.findall(text))
    for names in NAME.findall(text):
        found |= {f"{letter.upper()}-{number}" for letter, number in re.findall(r"([a-z])_(\d\d)_", names)}
    return found


def findings(key, texts, documents=None):
    """What is used without a row of the key, and the rows that no test uses; `texts` are the test files by path.

    Documents, by path too, may name ids but do not count as tests.
    """
    rows = ROW.findall(key)
    for path, text in {**texts, **(documents or {})}.items():
        for one in sorted(ids(text) - set(rows)):
            yield f"{path}: {one} is not in {KEY}; add a row with its meaning and its source"
    used = set().union(*(ids(text) for text in texts.values()))
    for one in rows:
        if one not in used:
            yield f"{KEY}: {one} is in no test; remove the row"
        if rows.count(one) > 1:
            yield f"{KEY}: {one} has {rows.count(one)} rows"


def main():
    listed = subprocess.run(["git", "ls-files", "Tests", ".ci"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [path for path in listed.stdout.splitlines() if path.endswith(SOURCES) and "/Fixtures/" not in path]
    own = {".ci/attack_ids.py", ".ci/test_attack_ids.py"}
    texts = {path: (ROOT / path).read_text() for path in paths if path not in own and (ROOT / path).exists()}
    documents = {"docs/threats.md": (ROOT / "docs/threats.md").read_text()}
    found = sorted(set(findings((ROOT / KEY).read_text(), texts, documents)))
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
