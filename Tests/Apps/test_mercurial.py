# SPDX-License-Identifier: Apache-2.0
"""Mercurial: `hg serve`, the hg client through a public path of the gateway."""

import re

import requests

from harness.apps import mercurial, run

#: The hg client sends no cookies.
ENTRY = {"public": ["/"]}


def hg(folder, *command, check=True):
    """The client, which does not check the certificates of the tests."""
    insecure = ["--insecure"] if command[0] in ("clone", "push") else []
    done = run("hg", *command, *insecure, cwd=folder, env={"HGRCPATH": "", "HGPLAIN": "1", "HGUSER": "ada"}, check=check)
    return done.returncode, (done.stdout + done.stderr).decode()


def pushed(url, folder):
    """Clones the repository, commits a large file and pushes; gives the status and the output of the push."""
    hg(folder, "clone", url, "work")
    (folder / "work" / "a file").write_bytes(bytes(range(256)) * 4000)
    hg(folder / "work", "commit", "-A", "-m", "file")
    return hg(folder / "work", "push", check=False)


def test_n_10_hg_serve_rejects_a_push_without_its_setting(fronts, started, tmp_path):
    """It sees plain HTTP behind the gateway, whatever the client speaks; the reason reaches the client over HTTP/1.1 (N-07)."""
    app = started(mercurial)
    front = fronts("hg-alone", app.port, ENTRY)
    status, output = pushed(front.url, tmp_path)
    assert status == 255 and re.search("HTTP Error 403: ssl required", output), output


def test_n_10_hg_clones_and_pushes(fronts, started, tmp_path):
    """With `push_ssl = false`, over plain HTTP and over TLS."""
    app = started(mercurial, "push_ssl = false")
    for name, http2 in (("plain", False), ("tls", True)):
        front = fronts(f"hg-{name}", app.port, ENTRY, http2=http2)
        place = tmp_path / name
        place.mkdir()
        if name == "tls":
            # The first push has made the head; this one is a second commit.
            hg(place, "clone", front.url, "work")
            (place / "work" / "another").write_text("text\n")
            hg(place / "work", "commit", "-A", "-m", "another")
            status, output = hg(place / "work", "push", check=False)
        else:
            status, output = pushed(front.url, place)
        assert status == 0, output
        hg(place, "clone", front.url, "second")
    assert len(hg(place / "second", "log", "-q")[1].splitlines()) == 2
    assert (place / "second" / "a file").stat().st_size == 1_024_000


def test_n_10_hg_without_public_gets_no_sign_in(fronts, started, tmp_path):
    """The client has no cookies, so that it gets 401."""
    front = fronts("hg-signed-in", started(mercurial).port)
    assert hg(tmp_path, "clone", front.url, "work", check=False)[0] != 0
    assert not (tmp_path / "work").exists()
    assert requests.get(front.url, timeout=20).status_code == 401
