# SPDX-License-Identifier: Apache-2.0
"""What the package, the image and the bill of materials are made from: the program, its version and its libraries."""

import hashlib
import os
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
#: Where packages and images are written.
OUTPUT = REPOSITORY / ".build/packages"


def lines(*command, **more):
    """The lines that a command prints; a command that fails ends the program with its message."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed with {result.returncode}:\n{result.stderr.strip()}")
    return result.stdout.splitlines()


@dataclass(frozen=True)
class DebianPackage:
    """An installed package of Debian."""
    name: str
    version: str
    architecture: str
    source: str
    source_version: str

    @classmethod
    def owning(cls, path):
        """The package that a file belongs to. Debian lists some files below `/lib` that are in `/usr/lib`."""
        path = str(path)
        for candidate in (path, path.removeprefix("/usr")):
            found = subprocess.run(["dpkg-query", "--search", candidate], capture_output=True, text=True)
            if found.returncode == 0:
                return cls.named(found.stdout.splitlines()[0].rpartition(": ")[0])
        raise SystemExit(f"{path} belongs to no package of Debian; build on a machine whose libraries are Debian's")

    @classmethod
    def named(cls, name):
        fields = ["${Package}", "${Version}", "${Architecture}", "${source:Package}", "${source:Version}"]
        return cls(*lines("dpkg-query", "--show", "--showformat", "\\n".join(fields) + "\\n", name))

    @property
    def copyright_file(self):
        return Path("/usr/share/doc") / self.name / "copyright"


@dataclass(frozen=True)
class Release:
    """A built program."""
    program: Path

    @classmethod
    def current(cls):
        """The program of `make build`, or what `GATEHOUSE_PROGRAM` names."""
        program = REPOSITORY / os.environ.get("GATEHOUSE_PROGRAM", ".build/release/gatehouse")
        if not program.exists():
            raise SystemExit(f"{program} is not built; run `make build`, or name a program with GATEHOUSE_PROGRAM")
        return cls(program)

    @cached_property
    def report(self):
        """What `gatehouse --version` prints: names to versions, with `gatehouse` as the first."""
        return dict(line.split(maxsplit=1) for line in lines(self.program, "--version"))

    @property
    def version(self):
        """The semantic version that the program reports."""
        return self.report["gatehouse"]

    @property
    def debian_version(self):
        """The version as Debian sorts it: a pre-release comes before its release."""
        return self.version.replace("-", "~", 1)

    @property
    def tag(self):
        """The version as the tag of an image, which may have no `+`."""
        return self.version.replace("+", "_")

    @cached_property
    def epoch(self):
        """`SOURCE_DATE_EPOCH`, else the time of the last commit: the only time in what is built."""
        given = os.environ.get("SOURCE_DATE_EPOCH")
        return int(given or lines("git", "-C", REPOSITORY, "log", "-1", "--format=%ct")[0])

    @cached_property
    def architecture(self):
        """Debian's name of the processor, which container images use as well."""
        return lines("dpkg", "--print-architecture")[0]

    def strip(self, target):
        """Writes the program without symbols that only debuggers read."""
        lines("strip", "--strip-unneeded", "--remove-section=.comment", "-o", target, self.program)
        target.chmod(0o755)

    @cached_property
    def libraries(self):
        """The shared libraries that the program loads, the loader included: paths without links in their folders."""
        found = []
        for line in lines("ldd", self.program):
            path = re.search(r"(/\S+) \(0x", line)
            if path:
                place = Path(path[1])
                found.append(place.parent.resolve() / place.name)
        return sorted(found)

    def libraries_without(self, names):
        """The libraries that would be left if those whose names begin so were not loaded by any other."""
        by_name = {path.name: path for path in self.libraries}
        reached, pending = set(), [self.program]
        while pending:
            for line in lines("objdump", "--private-headers", pending.pop()):
                needed = re.match(r"\s*NEEDED\s+(\S+)", line)
                path = by_name.get(needed[1]) if needed and not needed[1].startswith(tuple(names)) else None
                if path and path not in reached:
                    reached.add(path)
                    pending.append(path)
        return reached


def write_checksums(folder):
    """`SHA256SUMS` of all other files of a folder, for `sha256sum --check`."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    rows = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(rows))
