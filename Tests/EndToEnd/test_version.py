# SPDX-License-Identifier: Apache-2.0
"""Versions come from the tags of git: Plugins/version.sh."""

import re
import shutil
import subprocess
import tarfile

import pytest

from support.gateway import run
from support.processes import REPOSITORY

SCRIPT = "Plugins/version.sh"


class Clone:
    """A git repository with the script in it."""
    def __init__(self, folder):
        self.folder = folder
        (folder / "Plugins").mkdir(parents=True)
        shutil.copy(REPOSITORY / SCRIPT, folder / SCRIPT)
        shutil.copy(REPOSITORY / ".gitattributes", folder)
        self.git("init", "--quiet")
        self.git("add", ".")
        self.commit()

    def git(self, *arguments):
        identity = ["-c", "user.name=ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false"]
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, count=1):
        for _ in range(count):
            self.git("commit", "--quiet", "--allow-empty", "--message", "change")

    @property
    def short(self):
        return self.git("rev-parse", "HEAD")[:12]


def version(folder):
    result = subprocess.run(["sh", folder / SCRIPT, folder], capture_output=True, text=True, check=True)
    assert result.stderr == ""
    return result.stdout.strip()


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path / "clone")


def test_a_tagged_commit_has_the_version_of_its_tag(clone):
    for tag in ("0.2.0", "1.10.3"):
        clone.commit()
        clone.git("tag", f"v{tag}")
        assert version(clone.folder) == tag


def test_a_later_commit_is_a_prerelease_of_the_next_version(clone):
    """It sorts after the release before it and before the release that follows."""
    clone.git("tag", "--annotate", "--message", "a release", "v0.2.9")
    clone.commit(3)
    assert version(clone.folder) == f"0.2.10-dev.3+{clone.short}"


def test_commits_after_a_release_candidate_belong_to_it(clone):
    clone.git("tag", "v0.3.0-rc.1")
    assert version(clone.folder) == "0.3.0-rc.1"
    clone.commit(2)
    assert version(clone.folder) == f"0.3.0-rc.1.2+{clone.short}"


def test_other_tags_name_no_version(clone):
    clone.git("tag", "nightly")
    clone.git("tag", "v2-plans")
    clone.commit()
    assert version(clone.folder) == f"0.1.0-dev.2+{clone.short}"


@pytest.mark.parametrize("tag, later, expected", [
    ("v0.2.0", 0, "0.2.0"), ("v0.2.0", 2, "0.2.1-dev.2+{}"), (None, 0, "0.1.0-dev+{}"),
])
def test_a_tarball_of_git_has_the_version_of_its_commit(tag, later, expected, clone, tmp_path):
    if tag:
        clone.git("tag", tag)
    clone.commit(later)
    clone.git("archive", "--output", str(tmp_path / "source.tar"), "HEAD")
    with tarfile.open(tmp_path / "source.tar") as archive:
        archive.extractall(tmp_path / "source")
    assert version(tmp_path / "source") == expected.format(clone.short)


def test_a_copy_without_history_has_a_version(tmp_path):
    (tmp_path / "Plugins").mkdir()
    shutil.copy(REPOSITORY / SCRIPT, tmp_path / SCRIPT)
    assert version(tmp_path) == "0.1.0-dev"


def test_the_program_prints_its_version():
    """Semantic: semver.org, item 9 and 10."""
    first = run("--version").stdout.splitlines()[0]
    assert re.fullmatch(r"gatehouse \d+\.\d+\.\d+(-[0-9a-z]+(\.[0-9a-z]+)*)?(\+[0-9a-f]{12})?", first), first
