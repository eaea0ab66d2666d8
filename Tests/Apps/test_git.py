# SPDX-License-Identifier: Apache-2.0
"""git over HTTP: `git http-backend` in Apache, the git client through the gateway."""

import random
import shutil

import pytest

from harness.apps import git_server, own, run

AUTHOR = {
    f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.com"), ("DATE", "2026-01-01T00:00:00Z"))
}


@pytest.fixture(scope="module")
def app(started):
    return started(git_server)


def repository(app):
    """An empty repository that may be pushed to."""
    path = app.folder / "repositories" / "corpus.git"
    shutil.rmtree(path, ignore_errors=True)
    run("git", "init", "--bare", "-b", "main", path)
    run("git", "-C", path, "config", "http.receivepack", "true")
    own(path)


class Client:
    """The git client with the header fields of a session."""
    def __init__(self, folder, fields):
        self.folder = folder
        self.options = ["-c", "init.defaultBranch=main"]
        for name, value in fields.items():
            self.options += ["-c", f"http.extraHeader={name}: {value}"]

    def __call__(self, *command, at=".", **more):
        env = {**AUTHOR, "HOME": str(self.folder), "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}
        return run("git", *self.options, *command, cwd=self.folder / at, env=env, **more).stdout.decode()


def work(app, folder):
    """A clone, commits, pushes of a few and of many bytes, a shallow clone, a tag, a branch that is deleted."""
    def client(url, fields):
        repository(app)
        place = folder / ("through" if fields else "direct")
        place.mkdir()
        git, remote = Client(place, fields), f"{url}/git/corpus.git"
        git("clone", "-q", remote, "first")
        for number in range(3):
            (place / "first" / "file").write_text(f"version {number}\n")
            git("add", ".", at="first")
            git("commit", "-q", "-m", f"commit {number}", at="first")
        git("push", "-q", "origin", "main", at="first")
        (place / "first" / "large").write_bytes(random.Random(1).randbytes(6_000_000))
        git("add", ".", at="first")
        git("commit", "-q", "-m", "large", at="first")
        git("tag", "v1", at="first")
        # Over HTTP/2, git 2.39 with libcurl 7.88 now and then waits forever in a large upload, whatever the server.
        git("-c", "http.version=HTTP/1.1", "push", "-q", "origin", "main", "v1", "main:feature/a%b", at="first")
        git("push", "-q", "origin", ":feature/a%b", at="first")
        git("clone", "-q", remote, "second")
        git("fsck", "--strict", at="second")
        git("clone", "-q", "--depth", "1", remote, "shallow")
        depth = git("rev-list", "--count", "HEAD", at="shallow")
        git("fetch", "-q", "--unshallow", at="shallow")
        missing = git("ls-remote", f"{url}/git/missing.git", check=False)
        return {
            "head": git("rev-parse", "HEAD", at="second"),
            "remote": git("ls-remote", remote),
            "missing": missing,
            "tree": git("ls-tree", "-r", "HEAD", at="second"),
            "depth": depth,
            "whole": git("rev-list", "--count", "HEAD", at="shallow"),
        }

    return client


def test_clone_push_and_shallow_clone(front, app, tmp_path):
    """A push beyond 1 MiB is a chunked upload; Apache unpacks what git compresses."""
    seen = front.both(work(app, tmp_path))
    assert seen["depth"].strip() == "1" and seen["whole"].strip() == "4"
