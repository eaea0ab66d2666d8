# SPDX-License-Identifier: Apache-2.0
"""Reload under load: R-01 to R-05."""

import json
import os
import shutil
import signal
import ssl
import time
from pathlib import Path

import pytest

from support.browser import Browser
from support.gateway import NO_LIMITS, Gateway, oidc, public_echo
from support.load import Load, SteadyLoad, descriptors
from support.processes import certificate, eventually, free_port
from support.raw import Wire, request, tls_context
from support.upstream import Upstream

OK = 'gatehouse_reloads_total{result="ok"}'
FAILED = 'gatehouse_reloads_total{result="failed"}'


@pytest.fixture
def own_gateway(tmp_path, provider_server, realm):
    """A gateway for one test with a plain and a TLS listener; everything below /public/ is public."""
    app = Upstream()
    apps = public_echo(app)
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
    gateway.leave()
    app.close()


def reloads(gateway):
    return gateway.metric("gatehouse_reloads_total")


def reload(gateway, result=OK):
    """One reload by signal, awaited."""
    before = gateway.metric(result)
    gateway.reload()
    eventually(lambda: gateway.metric(result) > before, "the reload", 20)


def logged_reload(gateway, log):
    """One reload, awaited by its line in the log, which does not load the gateway."""
    gateway.reload()
    eventually(lambda: any("configuration reloaded" in line for line in log.readlines()), "the reload", 20)


@pytest.mark.timeout(240)
def test_a_thousand_reloads_under_load(own_gateway):
    """R-01: under 2,000 requests a second only 200; descriptors and memory do not grow."""
    own_gateway.start()
    load = SteadyLoad(own_gateway.port, 2000)
    began = time.monotonic()
    with open(own_gateway.process.log_path, encoding="utf-8") as log:
        try:
            for _ in range(200):
                logged_reload(own_gateway, log)
            before, files = own_gateway.memory_kib(), descriptors(own_gateway)
            done = 200
            # A slow machine does fewer, so that the test ends.
            while done < 1000 and time.monotonic() - began < 50:
                logged_reload(own_gateway, log)
                done += 1
        finally:
            load.end()
    assert load.failed == [] and load.count >= 6000
    assert done >= 400, f"only {done} reloads in 50 s"
    assert reloads(own_gateway) == done + 1, "each signal is one reload"
    grown = own_gateway.memory_kib() - before
    assert grown < 4 * 1024, f"{grown} KiB more after {done - 200} reloads"
    assert descriptors(own_gateway) <= files + 4


def test_many_signals_at_once_are_worked_off(own_gateway):
    """R-01: many signals at once are few reloads, one after the other, and requests are served."""
    own_gateway.start()
    load = Load(own_gateway.port, clients=2)
    try:
        before = reloads(own_gateway)
        for _ in range(500):
            os.kill(own_gateway.process.pid, signal.SIGHUP)
        eventually(lambda: reloads(own_gateway) > before, "a reload")
        reload(own_gateway)
        assert reloads(own_gateway) - before <= 501
    finally:
        load.end()
    assert load.failed == []


def test_one_edit_is_read_once(own_gateway):
    """R-01: neither a signal after an edit nor the periodic check reads the same edit twice."""
    own_gateway.start()
    start = reloads(own_gateway)
    for number in range(2):
        own_gateway.configuration["apps"]["echo"]["headers"] = {f"X-Edit-{number}": "user"}
        own_gateway.write()
        reload(own_gateway)
    own_gateway.configuration["apps"]["echo"]["headers"] = {"X-Edit-9": "user"}
    own_gateway.write()
    eventually(lambda: reloads(own_gateway) == start + 3, "the edit is noticed without a signal")
    # After three further checks of the files nothing has been read again.
    looked = time.monotonic() + 2
    eventually(lambda: time.monotonic() > looked or reloads(own_gateway) != start + 3, "time passes")
    assert reloads(own_gateway) == start + 3


def test_b_14_a_file_that_is_written_slowly_is_not_loaded_in_half(own_gateway):
    """Half of the file is valid, lacks a rule and is longer than the whole was; the writer pauses after it."""
    own_gateway.configuration["apps"]["echo"]["deny"] = [{"network": "127.0.0.1"}]
    own_gateway.start()
    assert request(own_gateway.port, "/x").status == 401
    start = reloads(own_gateway)
    half = json.loads(json.dumps(own_gateway.configuration))
    del half["apps"]["echo"]["deny"]
    half["apps"]["echo"]["public"] = ["/"]
    half["apps"]["more"] = {**half["apps"]["echo"], "path": "/more/", "public": ["/more/"]}
    # In place, as `cp` and a redirection write.
    own_gateway.path.write_text(json.dumps(half, indent=1))
    eventually(lambda: "reload waits for the files to keep still" in own_gateway.log, "it has been read", 10)
    assert request(own_gateway.port, "/x").status == 401 and reloads(own_gateway) == start
    whole = {**own_gateway.configuration, "apps": {**half["apps"], "echo": own_gateway.configuration["apps"]["echo"]}}
    own_gateway.path.write_text(json.dumps(whole, indent=1))
    eventually(lambda: request(own_gateway.port, "/more/x").status == 200, "the whole file is loaded", 10)
    assert request(own_gateway.port, "/x").status == 401 and reloads(own_gateway) == start + 1


BROKEN = [
    ("not YAML", "gateway: [\n", "providers.yaml:"),
    ("unknown key", None, "nonsense"),
    ("no provider", None, "providers.yaml:"),
    ("empty", "", "providers.yaml"),
]


@pytest.mark.parametrize("name,text,expected", BROKEN, ids=[name for name, *_ in BROKEN])
def test_an_invalid_file_does_not_disturb_traffic(name, text, expected, own_gateway):
    """R-02: the first error is in the log with its position, and the old configuration stays."""
    own_gateway.start()
    load = Load(own_gateway.port, clients=2)
    try:
        broken = {**own_gateway.configuration, "nonsense": 1} if name == "unknown key" else dict(own_gateway.configuration)
        if name == "no provider":
            broken["providers"] = {}
        if text is None:
            own_gateway.write(broken)
        else:
            own_gateway.path.write_text(text)
        reload(own_gateway, FAILED)
        line = next(line for line in own_gateway.log.splitlines() if "reload failed" in line)
        assert expected in line, line
        assert request(own_gateway.port, "/public/x").status == 200
        assert own_gateway.operation("/readyz").status_code == 200
        assert own_gateway.metric("gatehouse_config_last_reload_success") == 0
        own_gateway.write()
        reload(own_gateway)
    finally:
        load.end()
    assert load.failed == []


@pytest.mark.parametrize("what", ["missing", "no PEM", "another's key", "half"])
def test_an_invalid_certificate_does_not_disturb_traffic(what, own_gateway, tmp_path):
    """R-02: the pair is read together; a mismatched pair is never presented."""
    own_gateway.start()
    shown = presented(own_gateway)
    other_cert, other_key = certificate(tmp_path, "other", "gate.localhost")
    match what:
        case "missing": os.remove(own_gateway.key)
        case "no PEM": open(own_gateway.cert, "w").write("no certificate\n")
        case "another's key": shutil.copy(other_key, own_gateway.key)
        case "half": shutil.copy(other_cert, own_gateway.cert)
    reload(own_gateway, FAILED)
    assert presented(own_gateway) == shown
    assert request(own_gateway.tls_port, "/public/x", tls=tls_context(), server_name="gate.localhost").status == 200
    shutil.copy(other_cert, own_gateway.cert)
    shutil.copy(other_key, own_gateway.key)
    eventually(lambda: presented(own_gateway) != shown, "the whole pair is taken without a signal", 15)


def test_reloads_during_sign_ins(own_gateway, realm):
    """R-03: sign-ins in progress succeed."""
    own_gateway.start()
    for _ in range(5):
        browser = Browser(own_gateway)
        address = browser.begin("mock", "/x")
        reload(own_gateway)
        landing = browser.authorize(address)
        reload(own_gateway)
        assert browser.send("GET", landing).status == 303
        reload(own_gateway)
        assert browser.send("GET", "/x").status == 200


def test_a_reload_with_another_secret_signs_no_user_out(own_gateway, tmp_path, realm):
    """R-04: sessions and sign-ins in progress from before open with the second secret; new ones need the first only."""
    new = tmp_path / "new-secret"
    new.write_text("the new secret is also longer than 32 bytes")
    own_gateway.start()
    browser = Browser(own_gateway)
    browser.sign_in("mock", "/x")
    late = Browser(own_gateway)
    landing = late.authorize(late.begin("mock", "/late"))
    own_gateway.configuration["gateway"]["secret"] = [f"${{file:{new}}}", "${env:TEST_GATEWAY_SECRET}"]
    own_gateway.write()
    reload(own_gateway)
    assert browser.send("GET", "/x").status == 200
    assert late.visit(landing).url == f"{own_gateway.origin}/late"
    own_gateway.configuration["gateway"]["secret"] = [f"${{file:{new}}}"]
    own_gateway.write()
    reload(own_gateway)
    assert late.send("GET", "/x").status == 200


def presented(gateway):
    with Wire(gateway.tls_port, tls=tls_context(), server_name="gate.localhost") as wire:
        return wire.socket.getpeercert(binary_form=True)


def test_a_new_certificate_is_for_new_connections(own_gateway, tmp_path):
    """R-05: new handshakes get it, old connections stay open."""
    own_gateway.start()
    get = b"GET /public/x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n"
    with Wire(own_gateway.tls_port, tls=tls_context(), server_name="gate.localhost") as wire:
        wire.send(get)
        assert wire.response().status == 200
        old = presented(own_gateway)
        cert, key = certificate(tmp_path, "next", "gate.localhost")
        shutil.copy(cert, own_gateway.cert)
        shutil.copy(key, own_gateway.key)
        reload(own_gateway)
        assert presented(own_gateway) != old
        assert ssl.PEM_cert_to_DER_cert(open(cert).read()) == presented(own_gateway)
        wire.send(get)
        assert wire.response().status == 200


def test_a_renewal_needs_no_signal_whichever_way_the_acme_client_writes_it(own_gateway, tmp_path):
    """certbot leads `live/` to new files in `archive/`, first the chain, then the key; lego writes over both files."""
    cert, key = (Path(path) for path in (own_gateway.cert, own_gateway.key))
    archive = tmp_path / "archive"
    archive.mkdir()

    def lead(link, file):
        aside = link.with_suffix(".new")
        aside.symlink_to(file)
        aside.replace(link)

    for link in (cert, key):
        link.rename(archive / f"1-{link.name}")
        link.symlink_to(archive / f"1-{link.name}")
    own_gateway.start()
    first = presented(own_gateway)
    new_cert, new_key = certificate(tmp_path, "renewed", "gate.localhost")
    renewed = ssl.PEM_cert_to_DER_cert(Path(new_cert).read_text())
    lead(cert, new_cert)
    assert presented(own_gateway) == first, "a chain without its key is never presented"
    lead(key, new_key)
    eventually(lambda: presented(own_gateway) == renewed, "the renewed certificate is presented")
    cert_again, key_again = certificate(tmp_path, "again", "gate.localhost")
    Path(new_cert).write_bytes(Path(cert_again).read_bytes())
    Path(new_key).write_bytes(Path(key_again).read_bytes())
    again = ssl.PEM_cert_to_DER_cert(Path(cert_again).read_text())
    eventually(lambda: presented(own_gateway) == again, "the certificate that was written over it is presented")


def test_limits_of_a_reload_hold_for_new_connections(own_gateway):
    """A connection keeps the limits it was opened with."""
    own_gateway.start()
    long = b"GET /public/" + b"x" * 3000 + b" HTTP/1.1\r\nHost: gate.localhost\r\n\r\n"
    with Wire(own_gateway.port) as old:
        old.send(long)
        assert old.response().status == 200
        own_gateway.configuration["gateway"]["limits"] = {**NO_LIMITS, "url_bytes": "1KiB"}
        own_gateway.write()
        reload(own_gateway)
        old.send(long)
        assert old.response().status == 200
    with Wire(own_gateway.port) as new:
        new.send(long)
        assert new.response().status == 414
