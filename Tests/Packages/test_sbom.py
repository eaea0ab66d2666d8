# SPDX-License-Identifier: Apache-2.0
"""The bill of materials and the checksums."""

import json
import subprocess

import pytest
import sbom
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from release import REPOSITORY, write_checksums


@pytest.fixture(scope="module")
def bill(release):
    return sbom.document(release)


def test_it_is_valid_and_the_same_each_time(release, bill):
    errors = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill))
    assert errors is None, errors
    assert sbom.document(release) == bill


def test_it_lists_what_is_in_the_program_and_the_image(release, bill):
    components = {component["name"]: component["version"] for component in bill["components"]}
    pins = json.loads((REPOSITORY / "Package.resolved").read_text())["pins"]
    for pin in pins:
        assert components[pin["identity"]] == pin["state"]["version"]
    for package in sbom.packages_of(release):
        assert components[package.name] == package.version
    assert bill["metadata"]["component"]["version"] == release.version
    # The version of libcurl that the program reports is that of Debian's package.
    assert components["libcurl4"].startswith(release.report["libcurl"])


def test_the_checksums_verify(tmp_path):
    for name in ("a.deb", "b.tar"):
        (tmp_path / name).write_text(name)
    write_checksums(tmp_path)
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, capture_output=True).returncode == 0
    (tmp_path / "b.tar").write_text("changed")
    result = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 1 and "b.tar: FAILED" in result.stdout
