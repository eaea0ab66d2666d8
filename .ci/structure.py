#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the structure of the modules: sizes, cycles between folders and files, types, comparisons of failure codes.

    .ci/structure.py             prints the structure of the repository this file is in
    .ci/structure.py --root DIR  prints that of another copy
    .ci/structure.py --check     also exits 1 if a limit below is exceeded
    .ci/structure.py --edges M   prints the dependencies that form the cycles of a module

Needs Python 3.11, builds nothing. All figures are read from the text, with these rules:

- A module is a folder with Swift files in the folder of a layer in Sources.
- File A depends on file B of the same module if the code of A (not its comments or strings) contains the name of a
  type, protocol or typealias that B declares at the top of the file, or `.name` where B declares `name`: a nested type,
  or a member in an extension of a type of another file. A name that several files of the module declare counts for the
  one that declares it at the top, otherwise for none; a member counts only if nothing else in Sources has its name.
  So dependencies through an inferred type or an overloaded name are missed.
- A cycle of folders is a set of folders of one module whose files depend on each other; the files at the top of a
  module are a folder too.
"""
import argparse
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path, PurePosixPath

from sources import ACCESSORS, TYPE_KINDS, Finding, declarations_of, module_of, swift_sources, texts_of

LIMITS = {
    "cycles between folders": 0,
    "files in the largest cycle": 4,
    "comparisons of failure codes": 0,
}
# Modules with the demo and the provider simulators, which are not part of the product.
DEMO = re.compile(r"demo|simulat", re.IGNORECASE)

# Members that the compiler or the standard library gives other types as well.
SYNTHESIZED = {"allCases", "description", "hash", "hashValue", "id", "rawValue"}

WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*|\.[A-Za-z_]\w*")
# A failure is an enum case; comparing the text of its code is an error that no compiler finds.
CODE_COMPARISONS = [
    re.compile(r"\.code\??\s*(?:[!=]=|~=)(?!\s*E[A-Z0-9]+\b)"),
    re.compile(r"\.code\??\.(?:hasPrefix|hasSuffix|contains|starts|split)\b"),
    re.compile(r"\bcontains\(\s*(?:\w+[.?]+)*code\s*\)"),
    re.compile(r"[!=]=\s*(?:\w+[.?]+)+code\b(?!\s*[.(])"),
    re.compile(r"(?<![.\w])code\s*[!=]=\s*(?=\")"),
    re.compile(r"(?<![.\w])code\.has(?:Prefix|Suffix)\b"),
]
CODE_SWITCH = re.compile(r"\bswitch\s+[^{\n]*\bcode\s*\{")
NOT_A_FAILURE = re.compile(r"status\??\.code$")


# Dependencies between the files of a module


def declared_files(declarations, names_elsewhere):
    """The file of each name of a type and of each distinctive member of an extension (with a dot before it).

    The name of a nested type has a dot before it as well; in an extension of the type around it, it needs none.
    """
    types, members, everywhere = defaultdict(set), defaultdict(set), Counter()
    for declaration in declarations:
        if declaration.kind != "extension":
            everywhere[declaration.name] += 1
        if declaration.kind in TYPE_KINDS:
            types[declaration.name].add((not declaration.owners, declaration.source.path))
    homes, common = {}, names_elsewhere | SYNTHESIZED
    for name, places in types.items():
        top = {path for is_top, path in places if is_top}
        every = {path for _, path in places}
        if len(top) == 1:
            homes[name] = top.pop()
        elif len(every) == 1:
            homes["." + name] = every.pop()
    for declaration in declarations:
        owner = declaration.owners[-1] if declaration.owners else None
        is_distinctive = everywhere[declaration.name] == 1 and declaration.name not in common
        if owner and owner.kind == "extension" and declaration.kind in ACCESSORS and is_distinctive:
            if homes.get(owner.name) != declaration.source.path:
                members["." + declaration.name].add(declaration.source.path)
    return homes | {name: places.pop() for name, places in members.items() if len(places) == 1}


def dependencies_of(sources, declarations, names_elsewhere):
    """The files that each file of a module depends on, each with the names that make it depend on them."""
    homes = declared_files(declarations, names_elsewhere)
    own, extended, nested = defaultdict(set), defaultdict(set), defaultdict(set)
    for declaration in declarations:
        path, owners = declaration.source.path, [owner.name.split(".")[-1] for owner in declaration.owners]
        extended[path].update(owners)
        if declaration.kind != "extension":
            own[path].add(declaration.name)
        if declaration.kind in TYPE_KINDS and owners:
            nested[owners[-1]].add(declaration.name)
    graph = {}
    for source in sources:
        path, used = source.path, set(WORD.findall(source.code_text))
        # `Module.Type` names a type at the top; in an extension of `Outer`, its nested types need no `Outer.`.
        used |= {word[1:] for word in used if word[0] == "." and "." + word[1:] not in homes}
        used |= {"." + name for outer in extended[path] for name in nested[outer] if name in used}
        targets = graph[path] = defaultdict(set)
        for word in used:
            if word in homes and word.strip(".") not in own[path] and homes[word] != path:
                targets[homes[word]].add(word)
    return graph


def folders_of(graph):
    folders = defaultdict(set)
    for path, targets in graph.items():
        folder = str(PurePosixPath(path).parent)
        folders[folder] |= {str(PurePosixPath(target).parent) for target in targets} - {folder}
    return folders


def cycles_of(graph):
    """The strongly connected sets of more than one node, the largest first (Tarjan's algorithm)."""
    order, low, stack, sets = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in order:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == order[node]:
            start = stack.index(node)
            sets.append(stack[start:])
            del stack[start:]

    sys.setrecursionlimit(10_000)
    for node in sorted(graph):
        if node not in order:
            visit(node)
    return sorted((found for found in sets if len(found) > 1), key=len, reverse=True)


# Comparisons of failure codes


def block_end(code, start):
    depth = 0
    for found in re.compile(r"[{}]").finditer(code, start):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.end()
    return len(code)


def code_comparisons(source):
    """The lines where the code of a failure is compared as a text."""
    # A string as a row of quotes: what is compared matters, not its characters.
    code = list(source.code_text)
    for start, end, kind in source.pieces:
        if kind == "string":
            code[start:end] = ['"' if character != "\n" else "\n" for character in source.text[start:end]]
    code = "".join(code)
    offsets = set()
    for pattern in CODE_COMPARISONS:
        for found in pattern.finditer(code):
            if not NOT_A_FAILURE.search(code[:found.start()] + ".code"):
                offsets.add(found.start())
    for found in CODE_SWITCH.finditer(code):
        body = code[found.end() - 1:block_end(code, found.end() - 1)]
        if re.search(r'\bcase\b[^:]*"', body):
            offsets.add(found.start())
    return sorted({source.line_of(offset) for offset in offsets})


# The figures


class Structure:
    """The figures of a repository."""

    def __init__(self, root):
        self.sources = [source for source in swift_sources(texts_of(root)) if source.path.startswith("Sources/")]
        self.modules = defaultdict(list)
        for source in self.sources:
            self.modules[source.module].append(source)
        self.declarations = {module: [] for module in self.modules}
        for source in self.sources:
            self.declarations[source.module] += declarations_of(source)
        self.files = {module: self.graph(module) for module in self.modules}
        self.folders = {module: folders_of(graph) for module, graph in self.files.items()}
        self.file_cycles = {module: cycles_of(graph) for module, graph in self.files.items()}
        self.folder_cycles = {module: cycles_of(graph) for module, graph in self.folders.items()}

    def graph(self, module):
        elsewhere = {
            declaration.name for other, declarations in self.declarations.items() if other != module
            for declaration in declarations
        }
        return dependencies_of(self.modules[module], self.declarations[module], elsewhere)

    def fan_out(self):
        """For each file, how many files of its module and of the whole product it depends on, the most first."""
        product = [module for module in self.modules if not DEMO.search(module)]
        sources = [source for module in product for source in self.modules[module]]
        declarations = [declaration for module in product for declaration in self.declarations[module]]
        everywhere = dependencies_of(sources, declarations, set())
        rows = [(len(targets), len(self.files[module_of(path)][path]), path) for path, targets in everywhere.items()]
        return sorted(rows, key=lambda row: (-row[0], -row[1], row[2]))

    def lines(self, module):
        return sum(len(source.lines) for source in self.modules[module])

    def types(self):
        return sum(
            declaration.kind in TYPE_KINDS
            for module, declarations in self.declarations.items() if not DEMO.search(module)
            for declaration in declarations
        )

    def comparisons(self):
        return [
            (source.path, line) for source in self.sources if not DEMO.search(source.module)
            for line in code_comparisons(source)
        ]

    def figures(self):
        file_cycles = [cycle for cycles in self.file_cycles.values() for cycle in cycles]
        return {
            "cycles between folders": sum(len(cycles) for cycles in self.folder_cycles.values()),
            "files in the largest cycle": max(map(len, file_cycles), default=1),
            "comparisons of failure codes": len(self.comparisons()),
        }

    def print(self):
        print(f"modules: {len(self.modules)}")
        for module in sorted(self.modules, key=self.lines, reverse=True):
            cycles, folders, files = self.file_cycles[module], len(self.folders[module]), len(self.modules[module])
            print(f"  {module:<20} {self.lines(module):>6} lines {files:>4} files {folders:>3} folders")
            for cycle in self.folder_cycles[module]:
                print(f"    cycle of {len(cycle)} folders: {', '.join(short(folder, module) for folder in cycle)}")
            for cycle in cycles:
                print(f"    cycle of {len(cycle)} files: {', '.join(short(path, module) for path in cycle)}")
        print(f"types in the product: {self.types()}")
        print("files that depend on the most other files (of the product, of their module):")
        for count, in_module, path in self.fan_out()[:10]:
            print(f"  {count:>3} {in_module:>3} {path}")
        print("comparisons of failure codes:")
        for path, line in self.comparisons():
            print(f"  {path}:{line}")
        for name, figure in self.figures().items():
            print(f"{name}: {figure} (limit {LIMITS[name]})")


    def print_edges(self, module):
        """The dependencies that form the cycles of a module, between folders and between files, with their names."""
        for folders in self.folder_cycles[module]:
            for path, targets in self.files[module].items():
                for target, names in targets.items():
                    ends = {str(PurePosixPath(end).parent) for end in (path, target)}
                    if len(ends) == 2 and ends <= set(folders):
                        print(f"folders: {short(path, module)} -> {short(target, module)}: {', '.join(sorted(names))}")
        for files in self.file_cycles[module]:
            for path in files:
                for target in sorted(set(self.files[module][path]) & set(files)):
                    names = ", ".join(sorted(self.files[module][path][target]))
                    print(f"files: {short(path, module)} -> {short(target, module)}: {names}")


def short(path, module):
    return path.partition(f"/{module}")[2].removeprefix("/").removesuffix(".swift") or "(top)"


def findings(root):
    """The limits that a repository exceeds."""
    structure = Structure(root)
    for path, line in structure.comparisons():
        yield Finding(path, line, "the code of a failure is compared as a text; switch over the failure itself")
    for module, cycles in structure.folder_cycles.items():
        for cycle in cycles:
            names = ", ".join(short(folder, module) for folder in cycle)
            what = f"these folders depend on each other: {names}"
            yield Finding(f"Sources/{module}", 1, f"{what}; break the cycle, see `.ci/structure.py --edges {module}`")
    for module, cycles in structure.file_cycles.items():
        for cycle in cycles:
            if len(cycle) > LIMITS["files in the largest cycle"]:
                names = ", ".join(short(path, module) for path in cycle)
                what = f"{len(cycle)} files depend on each other: {names}"
                yield Finding(f"Sources/{module}", 1, f"{what}; break the cycle, see `.ci/structure.py --edges {module}`")


def main():
    parser = argparse.ArgumentParser(description="Prints the structure of the modules.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--check", action="store_true", help="exit 1 if a limit is exceeded")
    parser.add_argument("--edges", metavar="MODULE", help="print the dependencies that form the cycles of a module")
    options = parser.parse_args()
    root = options.root.resolve()
    if options.edges:
        Structure(root).print_edges(options.edges)
        return 0
    Structure(root).print()
    found = sorted(findings(root)) if options.check else []
    for finding in found:
        print(finding, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
