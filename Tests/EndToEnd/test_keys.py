# SPDX-License-Identifier: Apache-2.0
"""Rotation of the keys: no assertion is rejected and no user is signed out, at any gateway."""

import json
import os
import re
import signal
import threading
import time
import urllib.request

import jwt
import pytest
from http_message_signatures import InvalidSignature

from support.browser import Browser
from support.gateway import Gateway, oidc, public_echo, run
from support.operations import command
from support.processes import eventually
from support.upstream import Upstream
from support.verifiers import READERS, PublishedKeys, SignedMessage, signature_verifier


@pytest.fixture
def app():
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture
def pair(tmp_path, provider_server, app):
    """Two gateways that share the folder of keys, which look at it every second."""
    realm = provider_server.realm("mock")
    keys = tmp_path / "keys"
    gateways = []
    for name in ("one", "two"):
        gateway = Gateway(tmp_path / name, {"mock": oidc(realm.issuer)}, public_echo(app), name=name)
        gateway.configuration["assertion"] = {"keys": str(keys), "publish_ahead": "6s"}
        gateway.keys = keys
        gateways.append(gateway)
    with realm.fresh():
        for gateway in gateways:
            gateway.start()
        yield gateways
    for gateway in gateways:
        gateway.leave()


def jwks(gateway):
    return {key["kid"] for key in Browser(gateway).send("GET", "/oauth2/jwks.json").json["keys"]}


def listed(gateway):
    return json.loads(command(gateway, "keys", "list", "--json"))


class Verifier:
    """An app that verifies with PyJWT, which fetches keys at most every five seconds and never for an unknown key."""
    def __init__(self, gateway):
        self.gateway = gateway
        self.keys, self.fetched = None, 0
        self.used = set()

    def verify(self, text):
        if time.monotonic() - self.fetched > 5:
            url = f"http://127.0.0.1:{self.gateway.port}/oauth2/jwks.json"
            call = urllib.request.Request(url, headers={"Host": self.gateway.authority})
            with urllib.request.urlopen(call, timeout=5) as response:
                self.keys = jwt.PyJWKSet.from_json(response.read().decode())
            self.fetched = time.monotonic()
        kid = jwt.get_unverified_header(text)["kid"]
        # KeyError if the set that is cached has no such key.
        jwt.decode(text, self.keys[kid], ["ES256"], audience=self.gateway.origin, issuer=self.gateway.origin, leeway=5)
        self.used.add(kid)


@pytest.mark.timeout(180)
def test_a_rotation_under_traffic_rejects_no_assertion(pair, app):
    """The new key is published before it is used, at the gateway that was asked and at the other."""
    browsers = []
    for gateway in pair:
        browser = Browser(gateway)
        assert browser.sign_in("mock", f"/{gateway.name}").status == 200
        browsers.append(browser)
    first = next(iter(jwks(pair[0])))
    verifiers = [Verifier(gateway) for gateway in pair]
    failures, stop = [], threading.Event()

    def traffic(gateway, browser, verifier):
        count = 0
        while not stop.is_set():
            count += 1
            path = f"/{gateway.name}/{count}"
            try:
                assert browser.send("GET", path).status == 200
                verifier.verify(app.seen(path)[-1].get("X-Gatehouse-Assertion"))
            except Exception as error:  # each kind is a rejected assertion
                failures.append(f"{gateway.name}: {error!r}")

    threads = [
        threading.Thread(target=traffic, args=(gateway, browser, verifier))
        for gateway, browser, verifier in zip(pair, browsers, verifiers)
    ]
    for thread in threads:
        thread.start()
    try:
        text = command(pair[0], "keys", "rotate")
        assert "is used from" in text
        new = next(key["id"] for key in listed(pair[0])["assertion_keys"] if key["role"] == "next")
        eventually(lambda: all(jwks(gateway) == {first, new} for gateway in pair), "both publish the new key", 5)
        assert all(verifier.used == {first} for verifier in verifiers)
        eventually(lambda: all(new in verifier.used for verifier in verifiers), "both sign with the new key", 30)
        roles = {key["id"]: key["role"] for key in listed(pair[1])["assertion_keys"]}
        assert roles == {new: "active", first: "previous"}
        # As if an hour had passed: the old key is not needed any more.
        for file in pair[0].keys.glob("*.pem"):
            os.utime(file, (file.stat().st_atime, file.stat().st_mtime - 3600))
        eventually(lambda: all(jwks(gateway) == {new} for gateway in pair), "the old key is not published", 20)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert "reload failed" not in pair[0].log


@pytest.mark.timeout(120)
def test_what_a_withdrawn_key_signed_is_rejected(tmp_path, provider_server, app):
    """By apps that have the new key set, though neither assertion nor signature has expired."""
    gateway = Gateway(tmp_path / "gateway", {"mock": oidc(provider_server.realm("mock").issuer)}, public_echo(app))
    gateway.configuration["assertion"] = {"keys": str(tmp_path / "keys"), "publish_ahead": "2s"}
    gateway.configuration["apps"]["echo"]["identity"] = {"signature": "headers"}

    def signed(path):
        """An assertion and the request that it came with."""
        assert browser.send("GET", path).status == 200
        found = app.seen(path)[-1]
        return found.get("X-Gatehouse-Assertion"), SignedMessage(found, gateway.authority)

    def key(text):
        return jwt.get_unverified_header(text)["kid"]

    def read(reader, text, keys):
        return READERS[reader](text, keys, gateway.origin, gateway.origin, None)

    with provider_server.realm("mock").fresh(), gateway:
        browser = Browser(gateway)
        assert browser.sign_in("mock", "/withdrawn").status == 200
        old, old_message = signed("/withdrawn/old")
        command(gateway, "keys", "rotate")
        eventually(lambda: key(signed("/withdrawn/new")[0]) != key(old), "it signs with the new key", 20)
        new, new_message = signed("/withdrawn/new")
        # The old key is still published: the control.
        both = browser.send("GET", "/oauth2/jwks.json").json
        for reader in READERS:
            assert read(reader, old, both)["sub"] == read(reader, new, both)["sub"] == "mock:ada"
        for message in (old_message, new_message):
            signature_verifier(PublishedKeys(gateway.port)).verify(message)
        # As if an hour had passed.
        for file in (tmp_path / "keys").glob("*.pem"):
            os.utime(file, (file.stat().st_atime, file.stat().st_mtime - 3600))
        eventually(lambda: jwks(gateway) == {key(new)}, "the old key is not published", 20)
        keys = browser.send("GET", "/oauth2/jwks.json").json
        for reader in READERS:
            with pytest.raises(Exception):
                read(reader, old, keys)
            assert read(reader, new, keys)["sub"] == "mock:ada"
        verifier = signature_verifier(PublishedKeys(gateway.port))
        with pytest.raises(InvalidSignature):
            verifier.verify(old_message)
        verifier.verify(new_message)
        assert jwt.decode(old, options={"verify_signature": False})["exp"] > time.time(), "not because it has expired"


@pytest.mark.timeout(120)
def test_a_gateway_that_drains_signs_with_the_new_key_as_well(pair, app):
    """The other gateways stop publishing the old one."""
    draining, other = pair
    draining.stop()
    draining.start(drain_delay=60)
    browser = Browser(draining)
    assert browser.sign_in("mock", "/x").status == 200
    first = next(iter(jwks(draining)))
    os.kill(draining.process.pid, signal.SIGTERM)
    eventually(lambda: draining.operation("/readyz").status_code == 503, "it drains")
    command(other, "keys", "rotate")
    new = next(key["id"] for key in listed(other)["assertion_keys"] if key["role"] == "next")

    def signing():
        assert browser.send("GET", "/drain", navigates=False).status == 200
        return jwt.get_unverified_header(app.seen("/drain")[-1].get("X-Gatehouse-Assertion"))["kid"]

    assert signing() == first and new != first
    eventually(lambda: signing() == new, "it signs with the new key", 30)


def test_a_second_rotation_waits_for_the_first(pair):
    command(pair[0], "keys", "rotate")
    result = run("keys", "rotate", "--config", pair[1].path, cwd=pair[1].folder)
    assert result.returncode == 1 and "not used yet" in result.stderr
    assert len(list(pair[0].keys.glob("*.pem"))) == 2


def test_keys_rotate_by_themselves_when_they_are_old(pair):
    """One new key, however many gateways share the folder."""
    old = next(pair[0].keys.glob("*.pem"))
    os.utime(old, (time.time() - 100 * 86400, ) * 2)
    for gateway in pair:
        gateway.stop()
        gateway.configuration["assertion"]["rotate"] = "90d"
        gateway.start()
    eventually(lambda: len(jwks(pair[0])) == 2 and jwks(pair[0]) == jwks(pair[1]), "both publish one new key", 10)
    eventually(lambda: listed(pair[0])["assertion_keys"][0]["role"] == "active", "it is used", 20)
    assert len(list(pair[0].keys.glob("*.pem"))) == 2
    assert re.search(r"key added.*by=schedule", pair[0].log + pair[1].log)


def test_the_audit_log_names_who_changed_the_keys(pair):
    """The operator at the gateway that was asked, `schedule` at the one that finds the file."""
    command(pair[0], "keys", "rotate")
    eventually(lambda: len(jwks(pair[1])) == 2, "both publish the new key", 10)
    for gateway, actor in zip(pair, [f'"uid {os.getuid()}"', "schedule"]):
        line = next(line for line in gateway.log.splitlines() if "keys changed" in line)
        assert line.endswith(f" by={actor}") or f" by={actor} " in line, line


def test_key_files_are_private(pair):
    command(pair[0], "keys", "rotate")
    for file in pair[0].keys.glob("*.pem"):
        assert file.stat().st_mode & 0o777 == 0o600


def test_no_key_leaves_the_gateway_through_the_api(pair):
    text = command(pair[0], "keys", "list", "--json") + command(pair[0], "keys", "list") + pair[0].log
    for file in pair[0].keys.glob("*.pem"):
        for line in file.read_text().splitlines()[1:-1]:
            assert line not in text


def test_a_secret_in_the_configuration_is_rotated_there(pair):
    result = run("keys", "rotate", "--secret", "--config", pair[0].path, cwd=pair[0].folder)
    assert result.returncode == 1 and "gateway.secret" in result.stdout
    assert listed(pair[0])["secrets_in_configuration"] == 1


def test_a_secret_that_is_removed_opens_nothing_from_the_reload_on(pair, app):
    """Also for users whose session is cached, which is for half a minute."""
    gateway = pair[0]
    old_secret, new_secret = (f"{name} 0123456789abcdefghijklmnopqrstuvwxyz" for name in ("old", "new"))
    browsers = []
    for secrets in ([old_secret, new_secret], [new_secret, old_secret]):
        gateway.stop()
        gateway.configuration["gateway"]["secret"] = secrets
        gateway.start()
        browsers.append(Browser(gateway))
        assert browsers[-1].sign_in("mock", "/x").status == 200
    statuses = lambda: [browser.send("GET", "/x", navigates=False).status for browser in browsers]
    assert statuses() == [200, 200]
    gateway.configuration["gateway"]["secret"] = new_secret
    gateway.write()
    gateway.reload()
    eventually(lambda: statuses() == [401, 200], "only the session of the new secret is left", 10)


def test_the_secret_of_the_state_folder_rotates_with_no_user_signed_out(tmp_path, provider_server, app):
    realm = provider_server.realm("mock")
    gateway = Gateway(tmp_path / "gateway", {"mock": oidc(realm.issuer)}, public_echo(app))
    del gateway.configuration["gateway"]["secret"]
    gateway.configuration["assertion"] = {"publish_ahead": "2s"}

    def secrets():
        return {secret["file"]: secret["role"] for secret in listed(gateway)["secrets"]}

    with realm.fresh():
        gateway.start()
        before = Browser(gateway)
        assert before.sign_in("mock", "/x").status == 200
        began = Browser(gateway)
        landing = began.authorize(began.begin("mock", "/half-way"))
        command(gateway, "keys", "rotate", "--secret")
        assert sorted(secrets().values()) == ["active", "next"]
        eventually(lambda: sorted(secrets().values()) == ["active", "previous"], "the new secret is used", 10)
        assert began.send("GET", landing).status == 303
        after = Browser(gateway)
        assert after.sign_in("mock", "/x").status == 200
        gateway.stop()
        gateway.start()
        for browser in (before, began, after):
            assert browser.send("GET", "/x", navigates=False).status == 200
        gateway.leave()
