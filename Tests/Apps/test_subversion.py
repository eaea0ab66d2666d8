# SPDX-License-Identifier: Apache-2.0
"""Subversion over WebDAV: Apache with mod_dav_svn, the svn client through a public path of the gateway."""

import re

import pytest

from harness.apps import run, subversion_server

#: The svn client sends no cookies.
ENTRY = {"public": ["/"]}


@pytest.fixture(scope="module")
def app(started):
    return started(subversion_server)


def work(folder):
    """A checkout, commits with names that need escapes, properties, a copy, a merge and a log."""
    def client(url, fields):
        place = folder / ("through" if fields else "direct")
        place.mkdir()
        name = f"{folder.name}-{place.name}"
        base = f"{url}/svn/{name}"
        options = [
            "--non-interactive", "--config-dir", place / "config", "--trust-server-cert-failures",
            "unknown-ca,cn-mismatch,expired,not-yet-valid,other"
        ]
        svn = lambda *command, at=".": run("svn", *command, *options, cwd=place / at).stdout.decode()
        svn("mkdir", "-m", "start", base, f"{base}/trunk", f"{base}/branches")
        svn("checkout", "-q", f"{base}/trunk", "copy")
        (place / "copy" / "a file & more.txt").write_text("one\n")
        (place / "copy" / "large.bin").write_bytes(bytes(range(256)) * 8000)
        svn("add", "-q", "a file & more.txt", "large.bin", at="copy")
        svn("propset", "-q", "note", "näh", "large.bin", at="copy")
        svn("commit", "-m", "files", at="copy")
        svn("copy", "-m", "branch", f"{base}/trunk", f"{base}/branches/one")
        svn("update", "-q", at="copy")
        (place / "copy" / "a file & more.txt").write_text("two\n")
        svn("commit", "-m", "change", at="copy")
        svn("switch", "-q", f"^/{name}/branches/one", at="copy")
        svn("merge", "-q", f"^/{name}/trunk", at="copy")
        seen = {
            "list": svn("list", "-R", base),
            "log": re.sub(r"r\d+|:\d+\)|\d{4}-.*?\)", "", svn("log", "-v", base)),
            "text": svn("cat", f"{base}/trunk/a%20file%20&%20more.txt"),
            "status": svn("status", at="copy"),
            "property": svn("propget", "note", f"{base}/trunk/large.bin"),
        }
        return {key: value.replace(name, "NAME") for key, value in seen.items()}

    return client


def expect(seen):
    assert seen["text"] == "two\n" and seen["property"].strip() == "näh"


def test_y_04_svn_checks_out_commits_and_merges(fronts, app, tmp_path):
    """PROPFIND, REPORT, MKACTIVITY, CHECKOUT, MERGE and COPY pass, whole."""
    expect(fronts("subversion", app.port, ENTRY).both(work(tmp_path)))


def test_y_04_svn_over_tls_with_a_server_name(fronts, started, tmp_path):
    """mod_dav compares `Destination: https://…` of COPY with its own scheme, which `ServerName` sets."""
    app = started(subversion_server, "https://localhost")
    front = fronts("subversion-tls", app.port, ENTRY, http2=True)
    expect(work(tmp_path)(front.url, front.fields))


def test_y_04_svn_over_tls_without_a_setting_of_the_app(fronts, app, tmp_path):
    """mod_dav sees its own scheme and port in `Destination`."""
    entry = {**ENTRY, "upstream_host": f"127.0.0.1:{app.port}", "upstream_origin": "rewrite"}
    expect(fronts("subversion-plain", app.port, entry, http2=True).both(work(tmp_path)))
