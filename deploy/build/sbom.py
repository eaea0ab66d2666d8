#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the bill of materials of a built program as CycloneDX JSON, and the checksums of all that is built.

    deploy/build/sbom.py [--output FOLDER]

It lists the Swift packages of Package.resolved, which are in the program, the Swift runtime, and the packages of Debian
that the image contains and the Debian package depends on.
"""

import argparse
import hashlib
import json
import re
import shutil
import uuid
from pathlib import Path

from image import created, packages_of
from release import OUTPUT, REPOSITORY, Release, lines, write_checksums


def swift_packages():
    """The pinned packages: name, version and URL."""
    for pin in json.loads((REPOSITORY / "Package.resolved").read_text())["pins"]:
        location = re.sub(r"^https://|\.git$", "", pin["location"])
        version = pin["state"]["version"]
        yield {
            "type": "library",
            "name": pin["identity"],
            "version": version,
            "purl": f"pkg:swift/{location}@{version}",
            "externalReferences": [{"type": "vcs", "url": pin["location"]}],
        }


def swift_runtime():
    """The runtime and standard library in the program: those of the toolchain of this machine, if it has one."""
    if shutil.which("swiftc"):
        version = re.search(r"Swift version (\d+(?:\.\d+)+)", "\n".join(lines("swiftc", "--version")))[1]
        purl = f"pkg:swift/github.com/swiftlang/swift@{version}"
        yield {"type": "library", "name": "swift", "version": version, "purl": purl}


def debian_packages(release):
    distribution = dict(re.findall(r'^(\w+)="?([^"\n]*)', Path("/etc/os-release").read_text(), re.M))
    distro = f"{distribution['ID']}-{distribution['VERSION_ID']}"
    for package in packages_of(release):
        version = package.version.replace("+", "%2B").replace(":", "%3A")
        yield {
            "type": "library",
            "name": package.name,
            "version": package.version,
            "purl": f"pkg:deb/debian/{package.name}@{version}?arch={package.architecture}&distro={distro}",
        }


def document(release):
    program = {
        "type": "application",
        "name": "gatehouse",
        "version": release.version,
        "bom-ref": "gatehouse",
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(release.program.read_bytes()).hexdigest()}],
        "properties": [{"name": "commit", "value": release.report["commit"]}],
    }
    components = [*swift_packages(), *swift_runtime(), *debian_packages(release)]
    for component in components:
        component["bom-ref"] = component["purl"]
    listed = json.dumps([program, components], sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, listed)}",
        "version": 1,
        "metadata": {"timestamp": created(release), "component": program},
        "components": components,
        "dependencies": [{"ref": "gatehouse", "dependsOn": [component["purl"] for component in components]}],
    }


def main():
    parser = argparse.ArgumentParser(description="Writes the bill of materials and the checksums.")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    release = Release.current()
    path = output / f"gatehouse-{release.version}-{release.architecture}.cdx.json"
    path.write_text(json.dumps(document(release), indent=1) + "\n")
    write_checksums(output)
    print(f"{path}\n{output / 'SHA256SUMS'}")


if __name__ == "__main__":
    main()
