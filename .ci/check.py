#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the sources against the rules of the house that no compiler checks.

    .ci/check.py            checks the repository this file is in; exits 1 if a rule is broken
    .ci/check.py --root DIR checks another copy

Needs Python 3.11 and a Swift toolchain (for `swift format` and `swift package dump-package`), builds nothing.
Each complaint is `file:line: what; what to do`.
"""
import argparse
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Modules that come with the toolchain and may be imported everywhere.
TOOLCHAIN = {"Foundation", "FoundationEssentials", "Glibc", "Synchronization", "Dispatch"}
TOOLCHAIN_IN_TESTS = TOOLCHAIN | {"Testing"}

# The only files that may say `unsafe`, `@safe`, `@unchecked Sendable` or `nonisolated(unsafe)`, and why.
UNSAFE = {
    "Sources/GateConfiguration/YAML/YAMLEventReader.swift": "reads libyaml's events, which are C structures",
    "Sources/GateCore/PrivateFile.swift": "calls open, fstat and fchmod, so that a file is never readable by others",
    "Sources/GateHTTP/HTTP2/HTTP2Callbacks.swift": "is called by libnghttp2 with pointers to frames and to our objects",
    "Sources/GateHTTP/HTTP2/HTTP2Session.swift": "owns a libnghttp2 session and lends it bytes",
    "Sources/GateNet/HTTP2/HTTP2CallbackArguments.swift": "reads what libnghttp2 passes to callbacks",
    "Sources/GateNet/HTTP2/HTTP2SessionHandle.swift": "owns a libnghttp2 session",
    "Sources/GateNet/HTTP2/HeaderVector.swift": "points libnghttp2 at the lines of a head",
    "Sources/GateProviderHTTP/CurlTransport.swift": "hands buffers and a context pointer to the C part over libcurl",
    "Sources/GateProxy/Connecting/SystemResolver.swift": "calls getaddrinfo for all addresses of a name",
    "Sources/GateProxy/HTTP2/HTTP2ClientSession.swift": "drives libnghttp2, which calls back and keeps pointers to its streams",
    "Sources/GateNet/Sockets/EventPoll.swift": "hands its table of events to epoll_wait",
    "Sources/GateNet/Sockets/SocketCalls.swift": "hands addresses to bind, connect and getsockname",
    "Sources/GateNet/Sockets/SocketChannel.swift": "is confined to its loop, although a channel of SwiftNIO has to be Sendable; lets recv write into a buffer",
    "Sources/GateNet/Sockets/SocketConnector.swift": "hands an address to connect and asks for SO_ERROR",
    "Sources/GateNet/Sockets/SocketLoop.swift": "is its own thread, which confines most of what it holds; reads and writes an eventfd",
    "Sources/GateNet/Sockets/SocketOutput.swift": "hands bytes to send and sendmsg",
    "Sources/GateHTTP/Accept/InheritedSocket.swift": "asks the kernel where a socket is bound, which it was handed over",
    "Sources/GateServer/Gateway/SystemdNotifier.swift": "sends a datagram to the service manager's socket",
    "Sources/GateServer/Logs/OutputDescriptor.swift": "hands bytes to write, whose failure has to be known to the byte",
    "Sources/GateServer/Overload/DescriptorLimit.swift": "reads and raises the limit of file descriptors",
    "Sources/GateServer/Site/LoopExecutor.swift": "runs what the runtime hands over, which names its executor unowned",
    "Sources/GateWire/FieldScanner.swift": "looks at eight bytes of a field value at a time",
    "Sources/GateWire/Blocks/FieldLineWriter.swift": "writes a field line in one step",
    "Sources/GateWire/Blocks/FieldLineReader.swift": "compares names with literals",
    "Tests/FuzzDriver/main.swift": "is called by libFuzzer with a pointer to bytes",
    "Tests/GateNetTests/Support/SocketPair.swift": "makes the close of a socket a reset",
    "Tests/GateProviderHTTPTests/LocalProvider.swift": "a server on plain sockets, so that it can break every rule",
}

# Names that SwiftNIO's protocols require of an event loop and a channel.
UNDERSCORED = ["'_channelCore'", "'_preconditionSafeToSyncShutdown'"]

PUBLIC = re.compile(
    r"(?<![.\w])(?:public|open)\s+(?:\w+\s+)*?(?:func|var|let|struct|enum|protocol|init|class|actor|typealias|extension)\b"
)
NOWHERE = [
    (re.compile(r"\btry!"), "try!", "use try, try? or a Failure"),
    (re.compile(r"\bas!"), "as!", "use as? and guard"),
    (re.compile(r"[\w)\]}>?](?<!\btry)(?<!\bas)!(?!=)"), "a forced unwrap", "use guard let, or #require in a test"),
    (re.compile(r"\bfatalError\b"), "fatalError", "throw a Failure; a trap takes every connection down"),
    (PUBLIC, "public", "say package, or nothing"),
]
IN_ANY_TEXT = [
    (re.compile(r"\b(TODO|FIXME|XXX)\b"), "finish it, or leave it out"),
    (re.compile(r"swift-format-ignore"), "mend the code, the format has no exceptions"),
]
UNSAFE_WORD = re.compile(r"\bunsafe\b|@safe\b|@unchecked\s+Sendable|nonisolated\(unsafe\)")

IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?P<access>package|internal|fileprivate|private|public)\s+)?import\s+"
    r"(?:(?:struct|class|enum|protocol|typealias|func|let|var|actor)\s+)?(?P<module>\w+)"
)
MODIFIER = (
    r"(?:@\w+(?:\([^()]*\))?|static|class|final|mutating|nonmutating|nonisolated(?:\([^)]*\))?|indirect|override|"
    r"required|convenience|lazy|weak|unowned|borrowing|consuming|prefix|postfix|infix|distributed|async|"
    r"(?:private|fileprivate|internal)\(set\))\s+"
)
KIND = r"func|var|let|struct|enum|protocol|init|class|actor|typealias|subscript|associatedtype|case|extension|macro"
PACKAGE = re.compile(rf"^\s*(?:{MODIFIER})*package\s+(?:{MODIFIER})*(?P<kind>{KIND})\b\s*(?P<name>`[^`]*`|\w+)?")
MEMBER = re.compile(rf"^\s*(?:{MODIFIER})*(?P<kind>case|func|var|init|subscript|associatedtype)\b\s*(?P<name>`[^`]*`|\w+)?")

# What starts the stable names of failures; every literal of that form in Sources is explained in docs/errors.md,
# except where it is the `path` of a mapping of the configuration file.
CODE = re.compile(
    r'(?<!path: )"((?:assertion|chunk|endpoint|file|framing|gateway|handover|id_token|listener|openid|path|policy|profile|provider'
    r'|request|route|session|signin|tls|transport|upstream|wire)\.[a-z][a-z0-9_]*)"'
)
# The code of a failure, wherever it is made; it may break over lines.
FAILURE = re.compile(r'\bFailure\(\s*\.\w+,\s*"([^"\\]+)"')
# The files that name what they forbid.
NAMES_OF_RULES = (".ci/check.py", ".ci/test_check.py")
NOT_CODES_IN = ("Sources/GateDemo/",)

HINT_LINES = 300
SKIPPED_FOLDERS = {".build", ".git", ".venv", ".venv-apps", ".pytest_cache", "__pycache__", "state", "node_modules"}
SPDX = "SPDX-License-Identifier: Apache-2.0"
SPDX_SUFFIXES = {".swift", ".c", ".h", ".py", ".sh"}


@dataclass(frozen=True, order=True)
class Complaint:
    """One broken rule: where, what, and what to do."""

    file: str
    line: int
    text: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.text}"


# Reading Swift


def string_end(text, start):
    """The end of the string literal at `start`, interpolations included; None if there is none."""
    hashes = len(text[start:]) - len(text[start:].lstrip("#")) if text[start] == "#" else 0
    open_at = start + hashes
    if text[open_at:open_at + 1] != '"':
        return None
    quote = '"""' if text.startswith('"""', open_at) else '"'
    closing, escape = quote + "#" * hashes, "\\" + "#" * hashes
    at = open_at + len(quote)
    while at < len(text):
        if text.startswith(closing, at):
            return at + len(closing)
        if text.startswith(escape + "(", at):
            at = parenthesis_end(text, at + len(escape))
        elif text.startswith(escape, at):
            at += len(escape) + 1
        elif quote == '"' and text[at] == "\n":
            return at
        else:
            at += 1
    return at


def parenthesis_end(text, start):
    depth, at = 0, start
    while at < len(text):
        if text[at] in '"#':
            end = string_end(text, at)
            at = end if end is not None else at + 1
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            break
    return at


def comment_end(text, start):
    if text.startswith("//", start):
        end = text.find("\n", start)
        return len(text) if end < 0 else end
    if not text.startswith("/*", start):
        return None
    depth, at = 0, start
    while at < len(text):
        if text.startswith("/*", at):
            depth, at = depth + 1, at + 2
        elif text.startswith("*/", at):
            depth, at = depth - 1, at + 2
            if depth == 0:
                break
        else:
            at += 1
    return at


def raw_identifier_end(text, start):
    end = text.find("`", start + 1)
    line = text.find("\n", start)
    return end + 1 if 0 < end and (line < 0 or end < line) else None


ENDS = {"/": comment_end, '"': string_end, "#": string_end, "`": raw_identifier_end}


def code_of(text):
    """The text with comments, strings and raw identifiers blanked, line for line."""
    out, at = [], 0
    while at < len(text):
        find_end = ENDS.get(text[at])
        end = find_end(text, at) if find_end else None
        if end is None:
            out.append(text[at])
            at += 1
            continue
        blank = "_" if text[at] == "`" else " "
        out += ["\n" if character == "\n" else blank for character in text[at:end]]
        at = end
    return "".join(out)


@dataclass
class Source:
    """A Swift file: its lines as written and without comments and strings."""

    path: str
    text: str

    def __post_init__(self):
        self.lines = self.text.splitlines()
        self.code = code_of(self.text).splitlines()


# Rules for one Swift file


def import_complaints(source, allowed, target):
    in_tests = source.path.startswith("Tests/")
    toolchain = TOOLCHAIN_IN_TESTS if in_tests else TOOLCHAIN
    for number, line in enumerate(source.code, 1):
        found = IMPORT.match(line)
        if not found:
            continue
        module = found["module"]
        if module not in toolchain and module not in allowed:
            what = f"{target} may not import {module}"
            yield Complaint(source.path, number, f"{what}; see the table `house` in Package.swift")
        if not in_tests and found["access"] is None:
            yield Complaint(source.path, number, f"import {module} has no access level; say internal or package")


def is_documented(source, index):
    """Whether the declaration on a line has `///` above it, attributes and conditions between them allowed."""
    for above in range(index - 1, -1, -1):
        line = source.lines[above].strip()
        if line.startswith("///"):
            return True
        if not line.startswith(("@", "#if", "#else")):
            return False
    return False


def documentation_complaints(source):
    """Every `package` declaration, case of a package enum and requirement of a package protocol has a comment."""
    depth, owners = 0, []
    for index, line in enumerate(source.code):
        found = PACKAGE.match(line)
        inside = owners[-1] if owners else None
        member = MEMBER.match(line) if inside and depth == inside[0] else None
        if member and inside[1] == "enum" and member["kind"] != "case":
            member = None
        declared = found or member
        if declared and not is_documented(source, index):
            written = (PACKAGE if found else MEMBER).match(source.lines[index]) or declared
            name = f"{declared['kind']} {written['name'] or ''}".strip()
            owner = "package " if found else f"of a package {inside[1]}: "
            text = f"{owner}{name} has no documentation; write `///` above it"
            yield Complaint(source.path, index + 1, text)
        opened = depth
        for character in line:
            depth += {"{": 1, "}": -1}.get(character, 0)
        while owners and depth < owners[-1][0]:
            owners.pop()
        if found and found["kind"] in ("enum", "protocol") and depth > opened:
            owners.append((depth, found["kind"]))


def word_complaints(source):
    for number, line in enumerate(source.code, 1):
        for pattern, name, advice in NOWHERE:
            if pattern.search(line):
                yield Complaint(source.path, number, f"{name} is not allowed; {advice}")
        if UNSAFE_WORD.search(line) and source.path not in UNSAFE:
            advice = "do it safely, or add the file and a reason to UNSAFE in .ci/check.py"
            yield Complaint(source.path, number, f"unsafe code is kept to the listed files; {advice}")


# Rules for the whole repository


def text_complaints(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, advice in IN_ANY_TEXT:
            if found := pattern.search(line):
                yield Complaint(path, number, f"{found[0]} is not allowed; {advice}")


def licence_complaints(path, text):
    head = text.splitlines()[:2]
    first = 1 if head and head[0].startswith(("#!", "// swift-tools-version")) else 0
    if len(head) <= first or SPDX not in head[first]:
        yield Complaint(path, first + 1, f"the licence line is missing; write `{SPDX}` as a comment")


def unsafe_list_complaints(sources):
    by_path = {source.path: source for source in sources}
    for path in UNSAFE:
        source = by_path.get(path)
        if source is None or not any(UNSAFE_WORD.search(line) for line in source.code):
            yield Complaint(".ci/check.py", 1, f"{path} has no unsafe code any more; remove it from UNSAFE")


def table_complaints(table, sources):
    """Whatever a target may import, one of its files does; otherwise the table tells of an arrow that is not there."""
    for target, allowed in table.items():
        folder = f"Sources/{target}/"
        files = [source for source in sources if source.path.startswith(folder)]
        used = {found["module"] for source in files for line in source.code if (found := IMPORT.match(line))}
        for module in sorted(allowed - used) if files else []:
            yield Complaint("Package.swift", 1, f"{target} may import {module} and does not; remove it from the table")


def code_complaints(sources, documentation):
    seen = set(re.findall(r"`([a-z_]+(?:\.[a-z0-9_]+)?)`", documentation))
    for source in sources:
        if not source.path.startswith("Sources/") or source.path.startswith(NOT_CODES_IN):
            continue
        found = [
            (number, code) for number, line in enumerate(source.lines, 1) if not line.lstrip().startswith("//")
            for code in CODE.findall(line)
        ]
        found += [(source.text.count("\n", 0, match.start()) + 1, match[1]) for match in FAILURE.finditer(source.text)]
        for number, code in sorted(found):
            if code not in seen:
                seen.add(code)
                yield Complaint(source.path, number, f"{code} is not explained; add it to docs/errors.md")


def swift_format_complaints(root):
    """What `swift format lint --strict` says of the sources."""
    places = [place for place in ("Sources", "Tests", "Package.swift") if (root / place).exists()]
    command = ["swift", "format", "lint", "--strict", "--parallel", "-r", *places]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True)
    advice = "run `make format`, or mend it by hand"
    for line in result.stderr.splitlines():
        if any(name in line and "[NoLeadingUnderscores]" in line for name in UNDERSCORED):
            continue
        if found := re.match(r"(?:.*?/)?((?:Sources|Tests)/\S+?|Package\.swift):(\d+):\d+: \w+: (.*)", line):
            yield Complaint(found[1], int(found[2]), f"{found[3]}; {advice}")
        elif line.strip():
            yield Complaint("Sources", 1, f"swift format: {line.strip()}; {advice}")
    if result.returncode != 0 and not result.stderr.strip():
        yield Complaint("Sources", 1, f"swift format lint failed with {result.returncode}; {advice}")


def import_table(root):
    """Each target and what it may import, as SwiftPM understands Package.swift."""
    command = ["swift", "package", "dump-package"]
    # With the target that is there for fuzzing only.
    environment = os.environ | {"GATEHOUSE_FUZZ": "1"}
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        raise SystemExit(f"Package.swift:1: it cannot be read; mend it\n{result.stderr}")
    table = {}
    for target in json.loads(result.stdout)["targets"]:
        names = set()
        for dependency in target["dependencies"]:
            names |= {value[0] for value in dependency.values()}
        table[target["name"]] = names
    return table


def files_of(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if path.is_file() and not SKIPPED_FOLDERS & set(relative.parts):
            yield relative.as_posix(), path


def is_script(path, text):
    return Path(path).suffix in SPDX_SUFFIXES or Path(path).name == "Makefile" or text.startswith("#!")


def read(root):
    """The Swift sources and all other texts of a repository, by path."""
    sources, texts = [], {}
    for path, file in files_of(root):
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        texts[path] = text
        if path.endswith(".swift") and path.startswith(("Sources/", "Tests/")):
            sources.append(Source(path, text))
    return sources, texts


def complaints_of(root):
    sources, texts = read(root)
    table = import_table(root)
    targets = {target: names for target, names in table.items() if not target.endswith("Tests")}
    for path, text in texts.items():
        if is_script(path, text):
            yield from licence_complaints(path, text)
        if path.startswith(("Sources/", "Tests/", ".ci/", "deploy/")) and path not in NAMES_OF_RULES:
            yield from text_complaints(path, text)
    for source in sources:
        target = source.path.split("/")[1]
        yield from import_complaints(source, table.get(target, set()), target)
        yield from word_complaints(source)
        if source.path.startswith("Sources/"):
            yield from documentation_complaints(source)
    yield from unsafe_list_complaints(sources)
    yield from table_complaints(targets, sources)
    yield from code_complaints(sources, texts.get("docs/errors.md", ""))
    yield from swift_format_complaints(root)


def hints_of(root):
    """Files that are worth a thought because of their length; no rule is broken."""
    for source in read(root)[0]:
        if len(source.lines) > HINT_LINES:
            yield f"{source.path}: hint: {len(source.lines)} lines; could it be two files?"


def main():
    parser = argparse.ArgumentParser(description="Holds the sources against the rules of the house.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    complaints = sorted(set(complaints_of(root)))
    for hint in hints_of(root):
        print(hint)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    print(f"check: {len(complaints)} complaints" if complaints else "check: everything is in order")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
