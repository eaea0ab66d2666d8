#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the declarations in Sources that no code in Sources uses; a use in Tests does not count.

    .ci/dead.py             checks the repository this file is in; exits 1 if there are any
    .ci/dead.py --root DIR  checks another copy

Needs Python 3.11, builds nothing. It compares names in the text, so an overloaded name is used if one of its overloads is.

- A type is used if its name occurs outside of its declarations and extensions.
- A function is used if `.name`, `name(` or `name {` occurs outside of its body.
- A property is used if `.name` is read: `self.name = …` and `name:` do not count. The compiler reads those of a type that
  is `Equatable` or `Codable`.
- Static members and those of a file may be used without a dot.
- A case is used if `.name` occurs, unless its enum has raw values or lists its cases.

What only dead code uses is dead too. Initializers and subscripts are not checked.
"""
import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

from sources import TYPE_KINDS, Finding, declarations_of, swift_sources, texts_of

# Names that only code outside of Sources uses, by who that is.
USED_BY_OTHERS = {
    "ArgumentParser reads what a command declares": ["configuration", "arguments", "validate"],
    "the standard library prints values with them": ["description", "debugDescription", "customMirror"],
    "swift-mustache escapes and finds the values of pages with them": ["escapeText", "child"],
    "the compiler calls them for string literals and dynamic members": ["appendLiteral", "appendInterpolation", "subscript"],
    "a pipeline of SwiftNIO calls its handlers": [
        "InboundIn", "InboundOut", "OutboundIn", "OutboundOut", "handlerAdded", "handlerRemoved", "channelRead",
        "channelReadComplete", "channelInactive", "channelWritabilityChanged", "errorCaught", "userInboundEventTriggered",
    ],
    "SwiftNIO requires them of channels and event loops": [
        "_channelCore", "_preconditionSafeToSyncShutdown", "preconditionInEventLoop", "parent", "setOption",
        "localAddress0", "remoteAddress0", "register0", "registerAlreadyConfigured0", "bind0", "connect0",
        "triggerUserOutboundEvent0", "channelRead0", "errorCaught0",
    ],
    "swift-metrics calls its backend": [
        "makeCounter", "makeRecorder", "makeTimer", "destroyCounter", "destroyRecorder", "destroyTimer",
    ],
}
EXCEPTIONS = {name for names in USED_BY_OTHERS.values() for name in names}

CHECKED = TYPE_KINDS | {"func", "let", "var", "case"}
# What an enum conforms to if its cases are created from text or listed, and a type if the compiler reads its properties.
RAW_OR_LISTED = re.compile(r":[^{]*\b(?:String|Character|U?Int\d*|CodingKey|CaseIterable)\b")
SYNTHESIZED = re.compile(r":[^{]*\b(?:Codable|Encodable|Decodable|Equatable|Hashable)\b")

NAME = re.compile(r"(?P<dot>\.)?(?<!\w)(?P<name>[A-Za-z_]\w*)(?P<after>\s*[({]|:|\s*=(?!=))?")
SHORT_BINDING = re.compile(r"(?:\b(?:if|guard|while)|,)\s+(?:let|var)\s+$")
DECLARING = re.compile(r"\b(?:func|let|var|case|struct|class|enum|actor|protocol|typealias|extension)\s+$")


def uses_in(sources):
    """Each name with the places of its uses: `(source, offset, has a dot, what comes after)`, declarations left out."""
    uses = defaultdict(list)
    for source in sources:
        code = source.code_text
        for found in NAME.finditer(code):
            start, after = found.start("name"), (found["after"] or "").strip()
            # `if let name {` reads a property, though it looks like a declaration.
            is_binding = after not in ("=", ":") and SHORT_BINDING.search(code, max(0, start - 30), start)
            if found["dot"] or is_binding or not DECLARING.search(code, max(0, start - 12), start):
                uses[found["name"]].append((source, start, bool(found["dot"] or is_binding), after))
    return uses


def is_checked(declaration):
    owner = declaration.owners[-1].header if declaration.owners else ""
    before = declaration.source.code_text[max(0, declaration.offset - 200):declaration.offset]
    modifiers = re.search(r"[^\n]*$", before)[0]
    if declaration.kind not in CHECKED or declaration.name in EXCEPTIONS or not declaration.name.strip("_"):
        return False
    if re.search(r"\boverride\b", modifiers) or re.search(r"@main\s+(?:\w+\s+)*$", before):
        return False
    if declaration.kind == "case":
        return not RAW_OR_LISTED.match(owner)
    return not (declaration.kind in ("let", "var") and SYNTHESIZED.match(owner))


def is_use(declaration, source, offset, dot, after):
    """Whether a place that has the name of a declaration uses it."""
    match declaration.kind:
        case "func":
            return dot or after in ("(", "{") or after != ":" and (not declaration.owners or declaration.is_static)
        case "case":
            return dot
        case "let" | "var":
            if dot:
                return not (after == "=" and source.code_text.endswith("self.", 0, offset))
            return after != ":" and (not declaration.owners or declaration.is_static and after != "=")
        case _:
            return True


def dead_declarations(sources):
    """The declarations that no code in `sources` uses, apart from code that is dead itself."""
    declarations = [declaration for source in sources for declaration in declarations_of(source)]
    ranges = defaultdict(list)
    for declaration in declarations:
        family = "type" if declaration.kind in TYPE_KINDS | {"extension"} else declaration.kind
        ranges[family, declaration.name.split(".")[-1]].append(declaration)
    uses, dead = uses_in(sources), []
    left = [declaration for declaration in declarations if is_checked(declaration)]
    while True:
        found = []
        for declaration in left:
            family = "type" if declaration.kind in TYPE_KINDS else declaration.kind
            outside_of = [*(ranges[family, declaration.name] if family in ("type", "func") else []), *dead]
            if not any(
                is_use(declaration, source, offset, dot, after)
                and not any(other.source is source and other.offset <= offset < other.end for other in outside_of)
                for source, offset, dot, after in uses[declaration.name]
            ):
                found.append(declaration)
        if not found:
            return dead
        dead += found
        left = [declaration for declaration in left if declaration not in found]


def findings(root):
    sources = [source for source in swift_sources(texts_of(root)) if source.path.startswith("Sources/")]
    for dead in dead_declarations(sources):
        what = f"{dead.kind} {dead.name} is not used in Sources"
        yield Finding(dead.source.path, dead.line, f"{what}; delete it, or add it to the exceptions in .ci/dead.py")


def main():
    parser = argparse.ArgumentParser(description="Lists the declarations in Sources that no code in Sources uses.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    found = sorted(findings(parser.parse_args().root.resolve()))
    for finding in found:
        print(finding)
    print(f"dead code: {len(found)} declarations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
