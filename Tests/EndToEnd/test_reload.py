# SPDX-License-Identifier: Apache-2.0
"""Reload under load: reliability §1, R-01 to R-05."""

import os
import shutil
import signal
import ssl
import time

import pytest

from support.browser import Browser
from support.gateway import NO_LIMITS, Gateway, oidc
from support.load import Load, SteadyLoad, descriptors
from support.processes import certificate, eventually, free_port
from support.raw import Wire, request, tls_context
from support.upstream import Upstream

OK = 'gatehouse_reloads_total{result="ok"}'
FAILED = 'gatehouse_reloads_total{result="failed"}'


@pytest.fixture
def stand(tmp_path, provider_server, realm):
    """A gateway of the test's own with a plain and a TLS listener; everything below /public/ is open."""
    app = Upstream()
    apps = {"echo": {"path": "/", "upstream": app.address, "allow": "signed_in", "public": ["/public/"]}}
    cert, key = certificate(tmp_path, "gate", "gate.localhost")
    tls_port = free_port()
    gateway = Gateway(
        tmp_path,
        {"mock": oidc(realm.issuer)},
        apps,
        listeners=[{"address": f"127.0.0.1:{tls_port}", "tls": [{"certificate": cert, "private_key": key}]}],
    )
    gateway.app, gateway.tls_port, gateway.cert, gateway.key = app, tls_port, cert, key
    yield gateway
    gateway.stop()
    app.close()


def reloads(gateway):
    return gateway.metric("gatehouse_reloads_total")


def reload(gateway, result=OK):
    """One reload by signal, waited for."""
    before = gateway.metric(result)
    gateway.reload()
    eventually(lambda: gateway.metric(result) > before, "the reload", 20)


def logged_reload(gateway, log):
    """One reload, waited for by its line in the log, which costs the gateway nothing."""
    gateway.reload()
    eventually(lambda: any("configuration reloaded" in line for line in log.readlines()), "the reload", 20)


def test_a_thousand_reloads_under_load(stand):
    """R-01: under 2,000 requests a second no answer but 200, as many descriptors afterwards, no more memory."""
    stand.start()
    load = SteadyLoad(stand.port, 2000)
    began = time.monotonic()
    with open(stand.process.log_path, encoding="utf-8") as log:
        try:
            for _ in range(200):
                logged_reload(stand, log)
            before, files = stand.memory_kib(), descriptors(stand)
            done = 200
            # A slow machine gets fewer, so that the test ends.
            while done < 1000 and time.monotonic() - began < 50:
                logged_reload(stand, log)
                done += 1
        finally:
            load.end()
    assert load.failed == [] and load.count >= 6000
    assert done >= 400, f"only {done} reloads in 50 s"
    assert reloads(stand) == done + 1, "each signal is one reload"
    grown = stand.memory_kib() - before
    assert grown < 4 * 1024, f"{grown} KiB more after {done - 200} reloads"
    assert descriptors(stand) <= files + 4


def test_a_storm_of_signals_is_worked_off(stand):
    """R-01: many signals at once are few reloads, one after the other, and the gateway is there for everybody."""
    stand.start()
    load = Load(stand.port, clients=2)
    try:
        before = reloads(stand)
        for _ in range(500):
            os.kill(stand.process.pid, signal.SIGHUP)
        eventually(lambda: reloads(stand) > before, "a reload")
        reload(stand)
        assert reloads(stand) - before <= 501
    finally:
        load.end()
    assert load.failed == []


def test_one_edit_is_read_once(stand):
    """R-01: neither a signal after an edit nor the look at the files alone reads the same edit twice."""
    stand.start()
    start = reloads(stand)
    for number in range(2):
        stand.configuration["apps"]["echo"]["headers"] = {f"X-Edit-{number}": "user"}
        stand.write()
        reload(stand)
    stand.configuration["apps"]["echo"]["headers"] = {"X-Edit-9": "user"}
    stand.write()
    eventually(lambda: reloads(stand) == start + 3, "the edit is noticed without a signal")
    # Three looks at the files later nothing has been read again.
    looked = time.monotonic() + 2
    eventually(lambda: time.monotonic() > looked or reloads(stand) != start + 3, "time passes")
    assert reloads(stand) == start + 3


BROKEN = [
    ("not YAML", "gateway: [\n", "providers.yaml:"),
    ("unknown key", None, "nonsense"),
    ("no provider", None, "providers.yaml:"),
    ("empty", "", "providers.yaml"),
]


@pytest.mark.parametrize("name,text,said", BROKEN, ids=[name for name, *_ in BROKEN])
def test_a_broken_file_leaves_traffic_alone(name, text, said, stand):
    """R-02: the first error is in the log with its place, and the old configuration goes on."""
    stand.start()
    load = Load(stand.port, clients=2)
    try:
        broken = {**stand.configuration, "nonsense": 1} if name == "unknown key" else dict(stand.configuration)
        if name == "no provider":
            broken["providers"] = {}
        if text is None:
            stand.write(broken)
        else:
            stand.path.write_text(text)
        reload(stand, FAILED)
        line = next(line for line in stand.log.splitlines() if "reload failed" in line)
        assert said in line, line
        assert request(stand.port, "/public/x").status == 200
        assert stand.operation("/readyz").status_code == 200
        assert stand.metric("gatehouse_config_last_reload_success") == 0
        stand.write()
        reload(stand)
    finally:
        load.end()
    assert load.failed == []


@pytest.mark.parametrize("what", ["missing", "no PEM", "another's key", "half"])
def test_a_broken_certificate_leaves_traffic_alone(what, stand, tmp_path):
    """R-02: the pair is read as one; what does not belong together is not shown to anybody."""
    stand.start()
    shown = presented(stand)
    other_cert, other_key = certificate(tmp_path, "other", "gate.localhost")
    match what:
        case "missing": os.remove(stand.key)
        case "no PEM": open(stand.cert, "w").write("no certificate\n")
        case "another's key": shutil.copy(other_key, stand.key)
        case "half": shutil.copy(other_cert, stand.cert)
    reload(stand, FAILED)
    assert presented(stand) == shown
    assert request(stand.tls_port, "/public/x", tls=tls_context(), server_name="gate.localhost").status == 200
    shutil.copy(other_cert, stand.cert)
    shutil.copy(other_key, stand.key)
    eventually(lambda: presented(stand) != shown, "the whole pair is taken without a signal", 15)


def test_reloads_during_sign_ins(stand, realm):
    """R-03: whoever is on the way to or back from the provider arrives."""
    stand.start()
    for _ in range(5):
        browser = Browser(stand)
        address = browser.begin("mock", "/x")
        reload(stand)
        landing = browser.authorize(address)
        reload(stand)
        assert browser.send("GET", landing).status == 303
        reload(stand)
        assert browser.send("GET", "/x").status == 200


def presented(gateway):
    with Wire(gateway.tls_port, tls=tls_context(), server_name="gate.localhost") as wire:
        return wire.socket.getpeercert(binary_form=True)


def test_a_new_certificate_is_for_new_connections(stand, tmp_path):
    """R-05: new handshakes see it, old connections live."""
    stand.start()
    get = b"GET /public/x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n"
    with Wire(stand.tls_port, tls=tls_context(), server_name="gate.localhost") as wire:
        wire.send(get)
        assert wire.answer().status == 200
        old = presented(stand)
        cert, key = certificate(tmp_path, "next", "gate.localhost")
        shutil.copy(cert, stand.cert)
        shutil.copy(key, stand.key)
        reload(stand)
        assert presented(stand) != old
        assert ssl.PEM_cert_to_DER_cert(open(cert).read()) == presented(stand)
        wire.send(get)
        assert wire.answer().status == 200


def test_limits_of_a_reload_hold_for_new_connections(stand):
    """Scope 4: a connection keeps the bounds it was opened with."""
    stand.start()
    long = b"GET /public/" + b"x" * 3000 + b" HTTP/1.1\r\nHost: gate.localhost\r\n\r\n"
    with Wire(stand.port) as old:
        old.send(long)
        assert old.answer().status == 200
        stand.configuration["gateway"]["limits"] = {**NO_LIMITS, "url_bytes": "1KiB"}
        stand.write()
        reload(stand)
        old.send(long)
        assert old.answer().status == 200
    with Wire(stand.port) as new:
        new.send(long)
        assert new.answer().status == 414
