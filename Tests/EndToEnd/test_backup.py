# SPDX-License-Identifier: Apache-2.0
"""Backup and restore as docs/backup.md describes them."""

import copy
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc, public_echo
from support.operations import command
from support.processes import eventually


@pytest.fixture
def gateway(tmp_path, realm, app):
    gateway = Gateway(tmp_path / "gateway", {"mock": oidc(realm.issuer)}, public_echo(app))
    gateway.configuration["sessions"] = {"store": f"sqlite:{gateway.folder}/state/sessions.db"}
    gateway.write()
    yield gateway.start()
    gateway.leave()


def signed_in(gateway):
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/x").status == 200
    return browser


def is_live(browser):
    return browser.send("GET", "/x", navigates=False).status == 200


def test_a_backup_of_the_running_gateway_restores_its_sessions(gateway, tmp_path):
    """Also those that have ended since, until the operator revokes all that were in the copy."""
    database, saved = gateway.folder / "state/sessions.db", tmp_path / "saved.db"
    kept, ended = signed_in(gateway), signed_in(gateway)
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(saved)) as target:
        source.backup(target)
    stolen = Browser(gateway)
    stolen.cookies = copy.deepcopy(ended.cookies)
    ended.sign_out()
    late = signed_in(gateway)
    assert is_live(kept) and is_live(late) and not is_live(stolen)
    gateway.stop()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)
    shutil.copy(saved, database)
    gateway.start()
    assert is_live(kept) and is_live(stolen) and not is_live(late)
    command(gateway, "sessions", "revoke", "--all")
    eventually(lambda: not is_live(kept) and not is_live(stolen), "the restored sessions are over")


def test_without_its_secret_a_restored_file_signs_users_in_again(gateway):
    """The file alone opens nothing, and nothing in it stops the start."""
    browser = signed_in(gateway)
    gateway.stop()
    gateway.start({"TEST_GATEWAY_SECRET": "another secret of more than thirty-two bytes"})
    assert not is_live(browser)
    assert browser.sign_in("mock", "/x").status == 200 and is_live(browser)
