# SPDX-License-Identifier: Apache-2.0
"""Reads a repository for the other scripts: its files, and what is code, comment and string in a Swift file."""
import os
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

SKIPPED_FOLDERS = {".build", ".git", ".venv", ".venv-apps", ".venv-packages", ".pytest_cache", "__pycache__", "state", "node_modules"}

# What ends plain code: a comment, a string literal or a raw identifier.
OPENING = re.compile(r'//|/\*|#*"|`[^`\n]+`')
PARENTHESIS_OR_OPENING = re.compile(rf"[()]|{OPENING.pattern}")


def files_of(root):
    """The files of a repository that are not built or cached, by their path below the root."""
    paths = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        paths += [Path(folder, name) for name in files]
    for path in sorted(path for path in paths if path.is_file()):
        yield path.relative_to(root).as_posix(), path


def texts_of(root):
    """All UTF-8 texts of a repository, by path."""
    texts = {}
    for path, file in files_of(root):
        try:
            texts[path] = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return texts


# The folder of a layer in Sources, such as `4-adapters`.
LAYER = re.compile(r"\d-[a-z]+")


def module_of(path):
    """The module of a file in Sources, where it may be in the folder of a layer, or in Tests."""
    parts = path.split("/")
    return parts[2] if LAYER.fullmatch(parts[1]) else parts[1]


def swift_sources(texts):
    """The Swift files of Sources and Tests."""
    places = ("Sources/", "Tests/")
    return [Source(path, text) for path, text in texts.items() if path.endswith(".swift") and path.startswith(places)]


@dataclass(frozen=True, order=True)
class Finding:
    """One broken rule: where, what, and what to do."""

    file: str
    line: int
    text: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.text}"


# The parts of a Swift file


def pieces_of(text, start=0, in_parentheses=False):
    """Yields `(start, end, kind)` of each comment, raw identifier and literal part of a string.

    Interpolations are code. With `in_parentheses`, stops after the parenthesis that closes the one at `start`, and
    returns the offset there.
    """
    at, depth = start, 0
    pattern = PARENTHESIS_OR_OPENING if in_parentheses else OPENING
    while found := pattern.search(text, at):
        token, at = found[0], found.end()
        if token in "()":
            depth += 1 if token == "(" else -1
            if depth == 0:
                return at
        elif token == "//":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            yield found.start(), at, "comment"
        elif token == "/*":
            at = comment_end(text, found.start())
            yield found.start(), at, "comment"
        elif token[0] == "`":
            yield found.start(), at, "raw"
        else:
            at = yield from string_pieces(text, found.start(), found.end())
    return len(text)


def string_pieces(text, start, after_quote):
    hashes = "#" * (after_quote - start - 1)
    quote = '"""' if re.compile(r'"""[ \t]*\n').match(text, after_quote - 1) else '"'
    closing, escape = quote + hashes, "\\" + hashes
    pattern = re.compile(rf"{re.escape(closing)}|{re.escape(escape)}" + (r"|\n" if quote == '"' else ""))
    begin, at = start, after_quote - 1 + len(quote)
    while found := pattern.search(text, at):
        if found[0] == "\n":
            yield begin, found.start(), "string"
            return found.start()
        if found[0] == closing:
            yield begin, found.end(), "string"
            return found.end()
        at = found.end()
        if text.startswith("(", at):
            yield begin, at, "string"
            begin = at = yield from pieces_of(text, at, in_parentheses=True)
        else:
            at += 1
    yield begin, len(text), "string"
    return len(text)


def comment_end(text, start):
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    return len(text)


def blank(text):
    """Spaces of the same length, with the same line ends."""
    return re.sub(r"[^\n]", " ", text)


@dataclass
class Source:
    """A Swift file: its text, and what of it is code, comment and string, at the same offsets."""

    path: str
    text: str
    lines: list = field(init=False)

    def __post_init__(self):
        self.lines = self.text.splitlines()

    @cached_property
    def pieces(self):
        return list(pieces_of(self.text))

    @cached_property
    def code_text(self):
        """The text without comments and strings; a raw identifier is a row of underscores."""
        parts, at = [], 0
        for start, end, kind in self.pieces:
            piece = self.text[start:end]
            parts += [self.text[at:start], "_" * len(piece) if kind == "raw" else blank(piece)]
            at = end
        return "".join(parts) + self.text[at:]

    @cached_property
    def prose(self):
        """Only the comments, strings and raw identifiers."""
        parts, at = [], 0
        for start, end, _ in self.pieces:
            parts += [blank(self.text[at:start]), self.text[start:end]]
            at = end
        return "".join(parts) + blank(self.text[at:])

    @cached_property
    def code(self):
        """The lines without comments and strings."""
        return self.code_text.splitlines()

    @cached_property
    def line_starts(self):
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def line_of(self, offset):
        return bisect_right(self.line_starts, offset)

    @property
    def module(self):
        return module_of(self.path)


# The declarations of a Swift file

TYPE_KINDS = {"struct", "class", "enum", "actor", "protocol", "typealias"}
TOKEN = re.compile(
    r"[{}]|(?<![.\w])(?P<kind>struct|class|enum|actor|protocol|typealias|associatedtype|extension|func|var|let|case|init"
    r"|subscript)\b[ \t]*(?P<name>[A-Za-z_][\w.]*)?"
)
ACCESSORS = {"func", "var", "let", "init", "subscript"}


@dataclass(eq=False)
class Declaration:
    """A declaration at the top of a file or in a type, with the offsets of its name and of the end of its body."""

    kind: str
    name: str
    source: Source
    offset: int
    owners: tuple
    header: str = ""
    end: int = 0

    @property
    def line(self):
        return self.source.line_of(self.offset)

    @property
    def is_static(self):
        code = self.source.code_text
        return "static " in code[code.rfind("\n", 0, self.offset) + 1:self.offset]


def declarations_of(source):
    """The declarations of a file, nested ones included, those in the body of a function or accessor left out.

    `owners` are the enclosing types and extensions, outermost first; `header` is the text between the name and the
    body. Cases of an enum are one declaration each.
    """
    code, stack, found, pending = source.code_text, [], [], None
    for token in TOKEN.finditer(code):
        text = token[0]
        if text == "{":
            if pending:
                pending.header = code[pending.offset + len(pending.name):token.start()]
            stack.append(pending)
            pending = None
            continue
        if text == "}":
            closed = stack.pop() if stack else None
            if closed:
                closed.end = token.end()
            pending = None
            continue
        if any(owner is None or owner.kind in ACCESSORS for owner in stack):
            continue
        kind, name, owners = token["kind"], token["name"], tuple(stack)
        if kind == "class" and name in ("func", "var", "let", "subscript"):
            continue
        if kind == "case":
            found += cases_of(source, token.end("kind"), owners)
            pending = None
            continue
        if kind not in ("init", "subscript", "extension") and (name is None or name == "_"):
            continue
        offset = token.start("name") if name else token.start()
        written = source.text[offset:token.end()].strip("`") if name else kind
        pending = Declaration(kind, written, source, offset, owners, end=token.end())
        found.append(pending)
        if kind in ("typealias", "associatedtype"):
            pending = None
    return found


def cases_of(source, start, owners):
    """The names that a `case` of an enum declares; it may go on over lines, each but the last ending in a comma."""
    code, depth, at, expected = source.code_text, 0, start, True
    for token in re.compile(r"[()\[\]{}]|,|\n|[A-Za-z_]\w*|_+").finditer(code, start):
        text = token[0]
        if text == "\n" and depth == 0 and not expected:
            return
        if text in "([{":
            depth += 1
        elif text in ")]}":
            depth -= 1
            if depth < 0:
                return
        elif depth == 0 and text == ",":
            expected = True
        elif depth == 0 and expected and text != "\n":
            written = source.text[token.start():token.end()].strip("`")
            yield Declaration("case", written, source, token.start(), owners, end=token.end())
            expected = False
