#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules for the sources that no compiler checks.

    .ci/check.py            checks the repository this file is in; exits 1 if a rule is broken
    .ci/check.py --root DIR checks another copy

Needs Python 3.11 and a Swift toolchain (for `swift format` and `swift package dump-package`), builds nothing.
Each finding is `file:line: what; what to do`.
"""
import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from sources import Finding, Source, swift_sources, texts_of

# Modules that come with the toolchain and may be imported everywhere.
TOOLCHAIN = {"Foundation", "FoundationEssentials", "Glibc", "Synchronization", "Dispatch"}
TOOLCHAIN_IN_TESTS = TOOLCHAIN | {"Testing"}

# The only files that may contain `unsafe`, `@safe`, `@unchecked Sendable` or `nonisolated(unsafe)`, and why.
UNSAFE = {
    "Sources/3-identity/GateAccounts/Argon2.swift": "calls libargon2",
    "Sources/1-core/GateCore/Compression.swift": "calls zlib",
    "Sources/4-adapters/GateMail/SMTPTransport.swift": "hands a message and a login to the C part over libcurl",
    "Sources/5-configuration/GateYAML/YAMLEventReader.swift": "reads libyaml's events, which are C structures",
    "Sources/2-wire/GateWire/HeadWriter.swift": "copies the pieces of a head into the free capacity of a buffer, with its bounds checked",
    "Sources/1-core/GateCore/Span+Text.swift": "calls memchr and memcmp, and reads eight bytes at once, on the longest part of a request",
    "Sources/2-wire/GateWire/RequestID.swift": "writes the field line of an id as six words at once",
    "Sources/1-core/GateCore/RandomBytes.swift": "calls getentropy, so that random bytes cost one system call",
    "Sources/1-core/GateCore/PrivateFile.swift": "calls open, fstat and fchmod, so that a file is never readable by others",
    "Sources/4-adapters/GateHTTP/TLS/CertificateAuthority.swift": "hands certificates to the C part over OpenSSL",
    "Sources/4-adapters/GateHTTP/HTTP2/HTTP2Callbacks.swift": "is called by libnghttp2 with pointers to frames and to our objects",
    "Sources/4-adapters/GateHTTP/HTTP2/HTTP2Session.swift": "owns a libnghttp2 session and lends it bytes",
    "Sources/2-wire/GateNet/HTTP2/HTTP2CallbackArguments.swift": "reads what libnghttp2 passes to callbacks",
    "Sources/2-wire/GateNet/HTTP2/HTTP2SessionHandle.swift": "owns a libnghttp2 session",
    "Sources/2-wire/GateNet/HTTP2/HeaderVector.swift": "points libnghttp2 at the lines of a head",
    "Sources/4-adapters/GateProviderHTTP/CurlTransport.swift": "hands buffers and a context pointer to the C part over libcurl",
    "Sources/4-adapters/GateProxy/Connecting/DNSCache+Resolver.swift": "calls getaddrinfo for all addresses of a name",
    "Sources/4-adapters/GateProxy/HTTP2/HTTP2ClientSession.swift": "drives libnghttp2, which calls back and keeps pointers to its streams",
    "Sources/2-wire/GateNet/Sockets/BlockingSocket.swift": "hands an address to connect and a time to setsockopt",
    "Sources/2-wire/GateNet/Sockets/EventPoll.swift": "hands its table of events to epoll_wait",
    "Sources/2-wire/GateNet/Sockets/PacketSocket.swift": "hands buffers to socketpair, send and recv",
    "Sources/8-process/GateServer/Gateway/ServiceProcess+Spawn.swift": "calls posix_spawn and waitpid",
    "Sources/2-wire/GateNet/Sockets/SocketCalls.swift": "hands addresses to bind, connect and getsockname",
    "Sources/2-wire/GateNet/Sockets/SocketChannel.swift": "is confined to its loop, although a channel of SwiftNIO has to be Sendable; lets recv write into a buffer",
    "Sources/2-wire/GateNet/Sockets/SocketConnector.swift": "hands an address to connect and asks for SO_ERROR",
    "Sources/2-wire/GateNet/Sockets/SocketError.swift": "calls strerror",
    "Sources/2-wire/GateNet/Sockets/SocketLoop.swift": "is its own thread, which confines most of what it holds; reads and writes an eventfd",
    "Sources/2-wire/GateNet/Sockets/SocketOutput.swift": "hands bytes to send and sendmsg",
    "Sources/2-wire/GateNet/Sockets/UnixSocket.swift": "creates the file of a Unix socket and asks the kernel who connects",
    "Sources/4-adapters/GateHTTP/Accept/InheritedSocket.swift": "asks the kernel where a socket is bound, which it was handed over",
    "Sources/6-runtime/GateOperations/Logs/DatagramSocket.swift": "sends datagrams to the sockets of systemd and syslog",
    "Sources/6-runtime/GateOperations/Logs/LogLine.swift": "stores eight bytes of a line at once, with its bounds checked",
    "Sources/6-runtime/GateOperations/Logs/OutputDescriptor.swift": "hands bytes to write, whose failure has to be known to the byte",
    "Sources/8-process/GateServer/Overload/MachineResourceUsage+Start.swift": "reads and raises the limit of file descriptors",
    "Sources/2-wire/GateNet/LoopServices/LoopExecutor.swift": "runs what the runtime hands over, which names its executor unowned",
    "Sources/9-programs/gatehouse/DemoCommand.swift": "calls execv",
    "Sources/2-wire/GateWire/ByteBuffer+Literals.swift": "copies literals into a buffer in one step",
    "Sources/2-wire/GateWire/FieldNames.swift": "compares eight bytes of a name at a time",
    "Sources/2-wire/GateWire/FieldScanner.swift": "looks at eight bytes of a field value at a time",
    "Sources/2-wire/GateWire/HTTP2/FieldLineWriter.swift": "writes a field line in one step",
    "Sources/2-wire/GateWire/HTTP2/FieldLineReader.swift": "compares names with literals",
    "Tests/GateTestSupport/ChildProcess.swift": "calls posix_spawn and waitpid",
    "Tests/FuzzDriver/main.swift": "is called by libFuzzer with a pointer to bytes",
    "Tests/GateNetTests/Support/SocketPair.swift": "makes the close of a socket a reset",
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
    (PUBLIC, "public", "write package, or nothing"),
]
IN_ANY_TEXT = [
    (re.compile(r"\b(TODO|FIXME|XXX)\b"), "finish it, or remove it"),
    (re.compile(r"swift-format-ignore"), "change the code; the format has no exceptions"),
]
# The only file that takes durations apart.
TIME = "Sources/1-core/GateCore/Time.swift"
# Arithmetic that traps on a number from outside: what a store, a token, a header, a file or an environment has may be any number.
TRAPS = [
    (
        re.compile(r"\.components\b"),
        "'components' of a duration traps beyond 64 bits",
        "use wholeSeconds, wholeMilliseconds or wholeNanoseconds",
    ),
    (
        re.compile(
            r"\bU?Int(?:8|16|32|64)?\((?!\w+:)(?=(?:[^()]|\([^()]*\))*?(?:\bDouble\(|(?<![\w.])\d+\.\d|\d[eE]-?\d|timeInterval|[sS]hare\b|"
            r"\bratio\b|\bweight\b|\bjitter\b))"
        ),
        "the conversion of a floating-point number traps beyond the range of the integer",
        "use init(saturating:)",
    ),
    (
        re.compile(r"\brow\[\s*\]"),
        "a subscript of a row traps on a value of another type",
        "use bytes(_:) or instant(_:)",
    ),
    (
        re.compile(
            r"(?:\bU?Int(?:8|16|32|64)?\((?:\$0|[a-z]\w*(?:\[\w+\])?)\)|\.integer)\s*\?\?\s*[-\w.]+\)?\s*[-+*]\s"
            r"|flatMap\s*\{\s*U?Int(?:8|16|32|64)?\(\$0\)\s*\}\s*\)?\.map\s*\{\s*\$0\s*[-+*]\s"
        ),
        "arithmetic on a number that was just read traps where the result does not fit",
        "bound the number first, or use a time, whose arithmetic stops at its ends",
    ),
]
UNSAFE_WORD = re.compile(r"\bunsafe\b|@safe\b|@unchecked\s+Sendable|nonisolated\(unsafe\)")

IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?P<access>package|internal|fileprivate|private|public)\s+)?import\s+"
    r"(?:(?:struct|class|enum|protocol|typealias|func|let|var|actor)\s+)?(?P<module>\w+)"
)
# The failure catalogue: the only files of the product that spell the code of a failure.
CATALOG = "Sources/1-core/GateCore/Failures/Catalog/"
# A row of the catalogue; it may span lines.
CATALOG_ROW = re.compile(r'\bRow\(\s*\.\w+,\s*"([a-z_]+(?:\.[a-z0-9_]+)?)"')
QUOTED = re.compile(r'(?<!path: )"([a-z_]+(?:\.[a-z0-9_]+)?)"')
# The files that name what they forbid.
NAMES_OF_RULES = (".ci/check.py", ".ci/test_check.py")

HINT_LINES = 300
SPDX = "SPDX-License-Identifier: Apache-2.0"
SPDX_SUFFIXES = {".swift", ".c", ".h", ".py", ".sh"}


# Rules for one Swift file


def import_findings(source, allowed, target):
    in_tests = source.path.startswith("Tests/")
    toolchain = TOOLCHAIN_IN_TESTS if in_tests else TOOLCHAIN
    for number, line in enumerate(source.code, 1):
        found = IMPORT.match(line)
        if not found:
            continue
        module = found["module"]
        if module not in toolchain and module not in allowed:
            what = f"{target} may not import {module}"
            yield Finding(source.path, number, f"{what}; see the module graph in Package.swift")
        if not in_tests and found["access"] is None:
            yield Finding(source.path, number, f"import {module} has no access level; write internal or package")


def word_findings(source):
    for number, line in enumerate(source.code, 1):
        for pattern, name, advice in NOWHERE:
            if pattern.search(line):
                yield Finding(source.path, number, f"{name} is not allowed; {advice}")
        if UNSAFE_WORD.search(line) and source.path not in UNSAFE:
            advice = "do it safely, or add the file and a reason to UNSAFE in .ci/check.py"
            yield Finding(source.path, number, f"unsafe code is kept to the listed files; {advice}")


def number_findings(source):
    """No arithmetic that traps on a number from outside, as far as a line shows it; property tests look for the rest (B-05)."""
    if source.path == TIME:
        return
    for number, line in enumerate(source.code, 1):
        for pattern, what, advice in TRAPS:
            if pattern.search(line):
                yield Finding(source.path, number, f"{what}; {advice}")


# Rules for the whole repository


def text_findings(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, advice in IN_ANY_TEXT:
            if found := pattern.search(line):
                yield Finding(path, number, f"{found[0]} is not allowed; {advice}")


def licence_findings(path, text):
    head = text.splitlines()[:2]
    first = 1 if head and head[0].startswith(("#!", "// swift-tools-version")) else 0
    if len(head) <= first or SPDX not in head[first]:
        yield Finding(path, first + 1, f"the licence line is missing; write `{SPDX}` as a comment")


def unsafe_list_findings(sources):
    by_path = {source.path: source for source in sources}
    for path in UNSAFE:
        source = by_path.get(path)
        if source is None or not any(UNSAFE_WORD.search(line) for line in source.code):
            yield Finding(".ci/check.py", 1, f"{path} has no unsafe code any more; remove it from UNSAFE")


def table_findings(table, sources):
    """Each import that the table allows is used; otherwise the table names a dependency that does not exist."""
    for target, allowed in table.items():
        files = [source for source in sources if source.path.startswith("Sources/") and source.module == target]
        used = {found["module"] for source in files for line in source.code if (found := IMPORT.match(line))}
        for module in sorted(allowed - used) if files else []:
            yield Finding("Package.swift", 1, f"{target} may import {module} and does not; remove it from the table")


def layers_of(root):
    """The layer of each module, by the folders of Sources."""
    return {module.name: layer.name for layer in (root / "Sources").iterdir() for module in layer.iterdir()}


def layer_findings(table, layers):
    """Each module imports modules of its own layer and of lower ones only."""
    for target in sorted(layers.keys() & table.keys()):
        for module in sorted(table[target] & layers.keys()):
            if layers[module] > layers[target]:
                what = f"{target} of {layers[target]} imports {module} of the higher layer {layers[module]}"
                yield Finding("Package.swift", 1, f"{what}; move what it needs down")


def catalogue_findings(sources):
    """No file of the product but those of the failure catalogue spells a code; `structure.py` finds comparisons of codes."""
    codes = {code for source in sources if source.path.startswith(CATALOG) for code in CATALOG_ROW.findall(source.text)}
    for source in sources:
        if source.path.startswith(CATALOG) or not source.path.startswith("Sources/"):
            continue
        for number, line in enumerate(source.lines, 1):
            if line.lstrip().startswith("//"):
                continue
            for code in codes.intersection(QUOTED.findall(line)):
                yield Finding(source.path, number, f"{code} is spelled here; use its case of Failure.Reason")


def swift_format_findings(root):
    """The findings of `swift format lint --strict`."""
    places = [place for place in ("Sources", "Tests", "Package.swift") if (root / place).exists()]
    command = ["swift", "format", "lint", "--strict", "--parallel", "-r", *places]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True)
    advice = "run `make format`, or fix it by hand"
    for line in result.stderr.splitlines():
        if any(name in line and "[NoLeadingUnderscores]" in line for name in UNDERSCORED):
            continue
        if found := re.match(r"(?:.*?/)?((?:Sources|Tests)/\S+?|Package\.swift):(\d+):\d+: \w+: (.*)", line):
            yield Finding(found[1], int(found[2]), f"{found[3]}; {advice}")
        elif line.strip():
            yield Finding("Sources", 1, f"swift format: {line.strip()}; {advice}")
    if result.returncode != 0 and not result.stderr.strip():
        yield Finding("Sources", 1, f"swift format lint failed with {result.returncode}; {advice}")


def import_table(root):
    """Each target and what it may import, as SwiftPM understands Package.swift."""
    command = ["swift", "package", "dump-package"]
    # With the target that is there for fuzzing only.
    environment = os.environ | {"GATEHOUSE_FUZZ": "1"}
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        raise SystemExit(f"Package.swift:1: it cannot be read; fix it\n{result.stderr}")
    table = {}
    for target in json.loads(result.stdout)["targets"]:
        names = set()
        for dependency in target["dependencies"]:
            names |= {value[0] for value in dependency.values()}
        table[target["name"]] = names
    return table


def is_script(path, text):
    return Path(path).suffix in SPDX_SUFFIXES or Path(path).name == "Makefile" or text.startswith("#!")


def findings_of(root):
    texts = texts_of(root)
    sources = swift_sources(texts)
    table = import_table(root)
    targets = {target: names for target, names in table.items() if not target.endswith("Tests")}
    for path, text in texts.items():
        if is_script(path, text):
            yield from licence_findings(path, text)
        if path.startswith(("Sources/", "Tests/", ".ci/", "deploy/")) and path not in NAMES_OF_RULES:
            yield from text_findings(path, text)
    for source in sources:
        target = source.module
        yield from import_findings(source, table.get(target, set()), target)
        yield from word_findings(source)
        if source.path.startswith("Sources/"):
            yield from number_findings(source)
    yield from unsafe_list_findings(sources)
    yield from table_findings(targets, sources)
    yield from layer_findings(targets, layers_of(root))
    yield from catalogue_findings(sources)
    yield from swift_format_findings(root)


def hints_of(root):
    """Files that are long; no rule is broken."""
    for source in swift_sources(texts_of(root)):
        if len(source.lines) > HINT_LINES:
            yield f"{source.path}: hint: {len(source.lines)} lines; could it be two files?"


def main():
    parser = argparse.ArgumentParser(description="Checks the rules for the sources that no compiler checks.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    findings = sorted(set(findings_of(root)))
    for hint in hints_of(root):
        print(hint)
    for finding in findings:
        print(finding, file=sys.stderr)
    print(f"check: {len(findings)} findings" if findings else "check: no findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
