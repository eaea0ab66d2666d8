# SPDX-License-Identifier: Apache-2.0
"""Operating pins: rotation, outage, recovery, events, metrics, `gatehouse pins`."""

import json
import re
import threading

import pytest

from support.browser import Browser, links
from support.chains import Authority, bundle
from support.demo import Demo
from support.gateway import Gateway, oidc, run
from support.pinned import (
    APPS, asked_by_gateway, check, events, hosts, paired, pasted, pinned, reload, sign_in, surveyed
)
from support.processes import eventually
from support.provider import ProviderServer
from support.raw import request
from support.tls_servers import NginxFront, SecureProviderServer

STRANGER = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
FIELDS = "username name given_name family_name email email_verified picture locale groups roles auth_time".split()
OTHER = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="


class Place:
    """A root, an intermediate below it, and a server."""
    def __init__(self, folder):
        self.folder = folder
        self.root = Authority("Staff root")
        self.between = Authority("Staff issuing", parent=self.root)
        self.leaf = self.between.issue("localhost")
        self.ca = self.root.file(folder)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("place"))


@pytest.fixture
def apps(app):
    return {"app": {"upstream": app.address, "allow": "signed_in"}}


@pytest.fixture
def server(place, tmp_path):
    with SecureProviderServer(*place.leaf.files(tmp_path)) as server:
        yield server


@pytest.fixture
def realm(server, provider_server, request):
    return paired(server, provider_server, "pins-" + str(abs(hash(request.node.name))))


# MARK: rotation


def test_a_rotation_is_played_through_without_a_failed_sign_in(place, tmp_path, app, apps):
    """Add the backup, renew the certificate with the new key, remove the old pin; users sign in all the time."""
    live = tmp_path / "live"
    live.mkdir()
    plain = ProviderServer()
    pair = place.leaf.files(live, "n")
    # No kept connections: the reload would break one under a code that was sent, which is not sent again (G-11).
    front = NginxFront(tmp_path, "front", plain, pair, options="keepalive_requests 1;")
    realm = plain.realm("rotation")
    realm.metadata = {"authorization_endpoint": f"http://127.0.0.1:{plain.server_address[1]}/rotation/authorize"}
    following = place.leaf.renew(same_key=False)
    provider = pinned(realm.issuer, place.ca, place.leaf.pin, STRANGER)
    outcomes, over = [], threading.Event()

    def users(gateway):
        while not over.is_set():
            page, browser = sign_in(gateway)
            outcomes.append((page.status, browser.ticket() is not None))

    def more(count):
        wanted = len(outcomes) + count
        eventually(lambda: len(outcomes) >= wanted, f"{count} more users have signed in", 30)

    try:
        with Gateway(tmp_path, {"staff": provider}, apps) as gateway:
            crowd = [threading.Thread(target=users, args=(gateway, )) for _ in range(2)]
            for one in crowd:
                one.start()
            try:
                more(5)
                provider["tls"]["pins"]["sha256"] = [place.leaf.pin, following.pin]
                reload(gateway)
                more(5)
                following.files(live, "n")
                front.reload()
                more(10)
                eventually(lambda: events(gateway, "pin.backup_matched"), "the use of the backup is reported")
                fresh = place.leaf.renew(same_key=False).pin
                provider["tls"]["pins"]["sha256"] = [following.pin, fresh]
                reload(gateway)
                more(5)
            finally:
                over.set()
                for one in crowd:
                    one.join(30)
            assert set(outcomes) == {(200, True)}
            assert events(gateway, "pin.mismatch") == []
            (event, *_) = events(gateway, "pin.backup_matched")
            assert event["severity"] == "warning" and event["presented"][0] == following.pin
    finally:
        front.stop()
        plain.shutdown()


def test_a_renewal_with_the_same_key_keeps_public_key_pins_and_breaks_certificate_pins(place, server, tmp_path):
    server.realm("renewed")
    renewed = place.leaf.renew(same_key=True)
    server.use(*renewed.files(tmp_path, "renewed"))
    issuer = server.realms["renewed"].issuer
    assert "pin 1 of 2 matches" in check(tmp_path, pinned(issuer, place.ca, place.leaf.pin, STRANGER)).stdout
    by_certificate = pinned(issuer, place.ca, place.leaf.certificate_pin, STRANGER, match="certificate")
    assert "FAIL" in check(tmp_path, by_certificate).stdout


def test_a_server_with_two_kinds_of_keys_needs_the_pin_of_the_presented_one(place, tmp_path):
    """nginx has an ECDSA and an RSA certificate; it presents the first to clients that support it."""
    plain = ProviderServer()
    rsa = place.between.issue("localhost", key="rsa")
    front = NginxFront(tmp_path, "two", plain, place.leaf.files(tmp_path, "ec"), rsa.files(tmp_path, "rsa"))
    try:
        issuer = plain.realm("two").issuer
        both = check(tmp_path, pinned(issuer, place.ca, rsa.pin, place.leaf.pin))
        assert "of 2 matches" in both.stdout, both.stdout
        chain = check(tmp_path, pinned(issuer, place.ca, place.between.pin, STRANGER, match="chain"))
        assert "pin 1 of 2 matches" in chain.stdout
    finally:
        front.stop()
        plain.shutdown()


def test_sign_ins_one_after_the_other_use_a_warm_connection(place, server, realm, tmp_path, apps):
    with Gateway(tmp_path, {"staff": pinned(realm.issuer, place.ca, place.leaf.pin, STRANGER)}, apps) as gateway:
        surveyed(gateway, "staff")
        before = len(server.connections)
        for _ in range(10):
            assert sign_in(gateway)[0].status == 200
        assert asked_by_gateway(realm).count("token") == 10
        assert len(server.connections) == before, [c.bytes for c in server.connections]


# MARK: failures


@pytest.fixture
def outage(place, server, realm, provider_server, tmp_path, apps):
    """Ada is signed in with the provider whose key then changes without notice; another provider works."""
    other = provider_server.realm("pins-other")
    other.reset()
    staff = pinned(realm.issuer, place.ca, place.leaf.pin, STRANGER)
    providers = {"staff": staff, "other": oidc(other.issuer)}
    with Gateway(tmp_path, providers, apps) as gateway:
        gateway.staff = staff
        surveyed(gateway, "staff")
        page, ada = sign_in(gateway)
        assert page.status == 200
        server.use(*place.leaf.renew(same_key=False).files(tmp_path, "surprise"))
        server.hang_up()
        gateway.ada = ada
        yield gateway


def test_new_sign_ins_get_a_page_that_offers_the_other_providers(outage):
    page, browser = sign_in(outage)
    assert page.status == 503 and browser.ticket() is None and page.get("retry-after")
    assert "provider.pin_mismatch" in page.text and "not available right now" in page.text
    (other, ) = links(page)
    assert "/oauth2/start/other?rd=%2F" in other
    assert Browser(outage).visit(other).status == 200


def test_no_browser_is_sent_to_a_provider_whose_code_could_not_be_redeemed(outage, realm):
    sign_in(outage)
    browser = Browser(outage)
    response = browser.send("GET", "/oauth2/start/staff?rd=/")
    assert response.status == 503 and response.get("location") is None
    script = browser.send("GET", "/oauth2/start/staff?rd=/", fields={"Accept": "application/json"})
    assert script.status == 503 and b"provider.pin_mismatch" in script.body


def test_existing_sessions_continue_and_the_gateway_stays_ready(outage):
    sign_in(outage)
    assert outage.ada.send("GET", "/").status == 200
    assert outage.operation("/readyz").status_code == 200
    assert sign_in(outage, "other")[0].status == 200


def test_the_event_names_host_and_presented_pins(outage, server, place):
    sign_in(outage)
    (event, ) = events(outage, "pin.mismatch")
    assert event["severity"] == "critical" and event["provider"] == "staff"
    assert event["host"] == f"localhost:{server.port}" and event["presented"][0] != place.leaf.pin
    assert event["presented"][1:] == [place.between.pin, place.root.pin]
    line = eventually(lambda: re.search(".*event=pin.mismatch.*", outage.log), "the log has the event").group()
    assert "severity=critical" in line and event["presented"][0] in line
    sign_in(outage)
    assert outage.log.count("event=pin.mismatch") == 1
    assert outage.metric("gatehouse_pin_mismatches_total") >= 1
    assert outage.metric('gatehouse_security_events_total{event="pin.mismatch"') == 1


def test_report_mode_and_a_reload_restore_sign_ins_and_are_reported(outage, place):
    sign_in(outage)
    outage.staff["tls"]["pins"]["mode"] = "report"
    reload(outage)
    page, browser = sign_in(outage)
    assert page.status == 200 and browser.ticket()
    (event, ) = events(outage, "pin.bypassed")
    assert event["provider"] == "staff" and event["severity"] == "warning"
    assert event["presented"][1:] == [place.between.pin, place.root.pin] and event["presented"][0] != place.leaf.pin
    eventually(lambda: "event=pin.bypassed" in outage.log, "the log has the event")
    outage.staff["tls"]["pins"]["mode"] = "enforce"
    reload(outage)
    assert sign_in(outage)[0].status == 503
    assert len(events(outage, "pin.bypassed")) == 1


def test_removed_pins_are_reported_as_a_bypass(outage):
    outage.staff["tls"].pop("pins")
    reload(outage)
    (event, ) = events(outage, "pin.bypassed")
    assert "removed" in event["detail"]


def test_the_provider_is_back_as_soon_as_it_shows_its_key_again(outage, server, place, tmp_path):
    outage.ada.send("GET", "/")
    server.use(*place.leaf.files(tmp_path, "again"))
    assert sign_in(outage)[0].status == 200


def test_after_a_mismatch_the_first_sign_in_finds_that_it_is_over(outage, server, place, tmp_path):
    browser = Browser(outage)
    callback = browser.authorize(browser.begin("staff"))
    assert browser.visit(callback).status == 503
    assert hosts(outage, "staff")[0]["refused"]
    server.use(*place.leaf.files(tmp_path, "again"))
    assert sign_in(outage)[0].status == 200
    assert not hosts(outage, "staff")[0]["refused"]


def test_a_probe_does_not_use_an_earlier_connection(place, server, realm, tmp_path, apps):
    """One invalid response of a balancer, while all earlier connections are busy; then all works again."""
    hold = realm.holds["token"] = threading.Event()
    with Gateway(tmp_path, {"staff": pinned(realm.issuer, place.ca, place.leaf.pin, STRANGER)}, apps) as gateway:
        surveyed(gateway, "staff")
        kept = [connection for connection in server.connections if not connection.ended.is_set()]
        crowd = [threading.Thread(target=sign_in, args=(gateway, )) for _ in kept]
        for one in crowd:
            one.start()
        eventually(lambda: realm.count("token") == len(kept), "every connection redeems a code")
        server.use(*place.leaf.renew(same_key=False).files(tmp_path, "odd"))
        assert sign_in(gateway)[0].status == 503
        hold.set()
        for one in crowd:
            one.join(20)
        server.use(*place.leaf.files(tmp_path, "even"))
        assert Browser(gateway).begin("staff")


def test_a_host_that_is_no_longer_called_blocks_no_sign_in(place, server, realm, provider_server, tmp_path, apps):
    server.use(*place.leaf.renew(same_key=False).files(tmp_path, "odd"))
    provider = pinned(realm.issuer, place.ca, place.leaf.pin, STRANGER)
    with SecureProviderServer(*place.leaf.files(tmp_path, "next")) as following, \
            Gateway(tmp_path, {"staff": provider}, apps) as gateway:
        assert sign_in(gateway)[0].status == 503
        provider["issuer"] = paired(following, provider_server, "pins-moved").issuer
        reload(gateway)
        assert sign_in(gateway)[0].status == 200
        eventually(lambda: [host["host"] for host in hosts(gateway, "staff")] == [following.origin], "only it is left")


def test_authorities_are_those_that_were_read_with_the_file_in_force(place, server, realm, tmp_path, apps):
    """The file of authorities is replaced together with an invalid configuration: the old one stays whole."""
    ca = tmp_path / "ca.pem"
    ca.write_text(place.root.pem)
    provider = oidc(realm.issuer, tls={"ca_file": str(ca)})
    with Gateway(tmp_path, {"staff": provider}, apps) as gateway:
        surveyed(gateway, "staff")
        gateway.write({"gateway": 1})
        ca.write_text(Authority("Another root").pem)
        gateway.reload()
        eventually(lambda: gateway.metric('gatehouse_reloads_total{result="failed"}') > 0, "the file is refused")
        server.hang_up()
        assert sign_in(gateway)[0].status == 200
        reload(gateway)
        page, _ = sign_in(gateway)
        assert page.status == 502 and "provider.tls" in page.text


@pytest.mark.parametrize("sign", ["no pins", "a foreign key"])
def test_a_host_that_no_sign_in_calls_blocks_no_sign_in(sign, place, server, realm, tmp_path, apps):
    """The profile is in the ID token, so userinfo is never called, although the metadata names it."""
    with SecureProviderServer(*place.leaf.renew(same_key=False).files(tmp_path, "u"), host="u.localhost") as userinfo:
        realm.metadata["userinfo_endpoint"] = f"{userinfo.origin}/userinfo"
        own = {"sha256": [place.leaf.pin, STRANGER]}
        more = {"hosts": {"localhost": own}} if sign == "no pins" else own
        provider = oidc(realm.issuer, tls={"ca_file": place.ca, "pins": more})
        provider["profile"] = {field: ["id_token:/" + field] for field in FIELDS}
        with Gateway(tmp_path, {"staff": provider}, apps) as gateway:
            surveyed(gateway, "staff")
            assert sign_in(gateway)[0].status == 200
            assert userinfo.connections == []


def test_a_rejected_start_counts_as_a_failed_sign_in(outage):
    sign_in(outage)
    before = outage.metric('gatehouse_sign_ins_total{provider="staff",result="provider.pin_mismatch"}')
    assert Browser(outage).send("GET", "/oauth2/start/staff?rd=/").status == 503
    after = outage.metric('gatehouse_sign_ins_total{provider="staff",result="provider.pin_mismatch"}')
    assert after == before + 1


# MARK: reports


def test_the_start_logs_what_each_host_presents(place, server, realm, tmp_path, apps):
    provider = pinned(realm.issuer, place.ca, place.between.pin, STRANGER, match="chain")
    with Gateway(tmp_path, {"staff": provider}, apps) as gateway:
        (host, ) = surveyed(gateway, "staff")
        assert [link["public_key_sha256"] for link in host["chain"]] == [
            place.leaf.pin, place.between.pin, place.root.pin
        ]
        assert [link["pin"] for link in host["chain"]] == [None, 1, None]
        assert [link["subject"] for link in host["chain"]] == ["CN=a server", "CN=Staff issuing", "CN=Staff root"]
        assert host["unused_pins"] == 1 and host["mode"] == "enforce" and host["match"] == "chain"
        line = eventually(lambda: re.search(".*provider chain.*", gateway.log), "the log has the chain").group()
        assert f"1 CN=Staff issuing sha256 {place.between.pin} is pin 1, " in line and "days left" in line
        samples = gateway.metrics()
        spot = f'provider="staff",host="localhost:{server.port}"'
        for position, link in enumerate(host["chain"]):
            name = f'gatehouse_provider_certificate_days_left{{{spot},position="{position}"}}'
            assert samples[name] == link["days_left"] > 0
        assert samples[f"gatehouse_pin_backups_unused{{{spot}}}"] == 1
        assert samples[f"gatehouse_pin_enforced{{{spot}}}"] == 1
        assert samples[f'gatehouse_pin_matches_total{{{spot},pin="{place.between.pin}",position="1"}}'] >= 1
        gateway.configuration["providers"] = {"staff": oidc(realm.issuer, tls={"ca_file": place.ca})}
        reload(gateway)
        assert not any(name.startswith("gatehouse_pin_enforced") for name in gateway.metrics())


@pytest.mark.parametrize(
    "valid, severity", [((-60, 25), "notice"), ((-80, 10), "warning"), ((-88, 2), "critical"), ((-10, 25), None)]
)
def test_certificates_that_expire_soon_are_reported_by_the_days_left(valid, severity, place, provider_server, tmp_path, apps):
    """At 30, 14 and 3 days, but not while more than a third of its lifetime remains."""
    with SecureProviderServer(*place.between.issue("localhost", valid=valid).files(tmp_path)) as server:
        realm = paired(server, provider_server, "pins-ending")
        with Gateway(tmp_path, {"staff": oidc(realm.issuer, tls={"ca_file": place.ca})}, apps) as gateway:
            surveyed(gateway, "staff")
            found = [event["severity"] for event in events(gateway, "pin.expiring")]
            assert found == ([severity] if severity else [])
            eventually(lambda: ("event=pin.expiring" in gateway.log) == (severity is not None), "the line in the log")


def test_expired_pins_report_or_reject_as_configured(place, server, realm, tmp_path, apps):
    past = pinned(realm.issuer, place.ca, STRANGER, OTHER, expires="2026-01-01")
    with Gateway(tmp_path, {"staff": past}, apps) as gateway:
        assert sign_in(gateway)[0].status == 200
        (host, ) = surveyed(gateway, "staff")
        assert host["mode"] == "enforce" and host["demand"] == "report" and host["expires"] == "2026-01-01"
        assert [event["severity"] for event in events(gateway, "pin.expiring")] == ["critical"]
        assert gateway.metric("gatehouse_pin_set_days_left") < 0
        past["tls"]["pins"]["on_expiry"] = "reject"
        reload(gateway)
        before = len(server.connections)
        page, _ = sign_in(gateway)
        assert page.status == 503 and "provider.pins_expired" in page.text
        assert len(server.connections) == before


def test_expired_pins_that_matched_are_reported_as_a_bypass(place, realm, tmp_path, apps):
    expired = pinned(realm.issuer, place.ca, place.leaf.pin, STRANGER, expires="2026-01-01")
    with Gateway(tmp_path, {"staff": expired}, apps) as gateway:
        surveyed(gateway, "staff")
        assert [event["severity"] for event in events(gateway, "pin.bypassed")] == ["warning"]


def test_check_reports_expired_pins(place, server, tmp_path):
    issuer = server.realm("expired").issuer
    for mode, words in {"report": "a mismatch is only noted", "reject": "every connection is refused"}.items():
        provider = pinned(issuer, place.ca, place.leaf.pin, STRANGER, expires="2020-01-01", on_expiry=mode)
        result = check(tmp_path, provider)
        assert f"warning: provider 'staff': the pins have expired on 2020-01-01, so {words}" in result.stderr
    line = check(tmp_path, pinned(issuer, place.ca, place.leaf.pin, STRANGER, expires="2020-01-01")).stdout
    assert "warn" in line and "the pins have expired on 2020-01-01" in line


# MARK: gatehouse pins


def test_the_output_of_pins_can_be_pasted_and_enforced(place, server, tmp_path):
    result = run("pins", f"localhost:{server.port}", "--ca-file", place.ca)
    assert result.returncode == 0, result.stderr
    for certificate in (place.leaf, place.between, place.root):
        assert f"sha256 {certificate.pin}" in result.stdout
    assert place.leaf.certificate_pin in result.stdout
    found = pasted(result.stdout)
    assert found == {"match": "chain", "mode": "report", "sha256": [place.root.pin, place.between.pin]}
    issuer = server.realm("pasted").issuer
    enforced = pinned(issuer, place.ca, *found["sha256"], match=found["match"])
    assert "pin 1 of 2 matches" in check(tmp_path, enforced).stdout


def test_hosts_below_different_roots_get_a_set_each(place, server, realm, tmp_path):
    """The document is below one root, the tokens below another one without an intermediate."""
    other = Authority("Other root")
    both = bundle(tmp_path, "both", place.root, other)
    with SecureProviderServer(*other.issue("x.localhost").files(tmp_path, "x"), host="x.localhost") as tokens:
        realm.metadata["token_endpoint"] = f"{tokens.origin}/token"
        gateway = Gateway(tmp_path, {"staff": oidc(realm.issuer, tls={"ca_file": both})}, APPS)
        gateway.write()
        result = run("pins", "--provider", "staff", "--config", gateway.path)
        assert result.returncode == 0, result.stdout
        found = pasted(result.stdout)
        assert {host: entry["sha256"] for host, entry in found["hosts"].items()} == {
            "localhost": [place.root.pin, place.between.pin], "x.localhost": [other.pin],
        }
        assert "allow_single_pin" in result.stdout
        gateway.configuration["providers"]["staff"]["tls"]["pins"] = {**found, "mode": "enforce", "allow_single_pin": True}
        gateway.write()
        online = run("check", "--online", "--config", gateway.path).stdout
        assert online.count("pin 1 of ") == 2 and "no failures" in online, online


@pytest.mark.parametrize("spelling", ["localhost:{port}", "https://localhost:{port}", "https://localhost:{port}/realms/x"])
def test_pins_accepts_a_host_or_a_url(spelling, place, server):
    result = run("pins", spelling.format(port=server.port), "--ca-file", place.ca)
    assert result.returncode == 0 and result.stdout.startswith(f"localhost:{server.port}\n")


@pytest.mark.parametrize(
    "words", [
        [], ["http://localhost"], ["a b"], ["localhost:0"], ["localhost", "--provider", "staff"],
        ["--provider", "staff", "--ca-file", "x"], ["localhost", "--proxy", "https://localhost"],
    ]
)
def test_pins_called_wrongly_exits_with_2(words):
    result = run("pins", *words)
    assert result.returncode == 2 and result.stderr and not result.stdout


def test_pins_never_shows_an_untrusted_chain(place, server):
    result = run("pins", f"localhost:{server.port}")
    assert result.returncode == 1 and "unknown issuer" in result.stdout
    assert place.leaf.pin not in result.stdout + result.stderr and "sha256:" not in result.stdout
    assert server.application_bytes == b""


def test_pins_of_a_provider_compares_all_its_hosts_with_the_file(place, server, realm, tmp_path):
    realm.metadata["token_endpoint"] = realm.issuer.replace("localhost", "x.localhost") + "/token"
    gateway = Gateway(tmp_path, {"staff": pinned(realm.issuer, place.ca, STRANGER, place.leaf.pin)}, APPS)
    gateway.write()
    result = run("pins", "--provider", "staff", "--config", gateway.path)
    assert "pin 2 of 2 matches; 1 of them unused now" in result.stdout
    assert f"x.localhost:{server.port}" in result.stdout and "another host name" in result.stdout
    assert result.returncode == 1
    for_scripts = run("pins", "--provider", "staff", "--config", gateway.path, "--json")
    found = json.loads(for_scripts.stdout)
    assert for_scripts.returncode == 1 and found["good"] is False
    hosts = {host["host"]: host for host in found["hosts"]}
    pinned_host, other = hosts[f"localhost:{server.port}"], hosts[f"x.localhost:{server.port}"]
    assert pinned_host["pins"] == {"count": 2, "matches": True} and pinned_host["failure"] is None
    assert [one["pin"] for one in pinned_host["certificates"] if one["public_key"] == place.leaf.pin] == [2]
    assert other["certificates"] == [] and other["failure"]["code"] == "provider.tls"


def test_pins_of_a_provider_shows_pins_that_do_not_match(place, realm, tmp_path):
    gateway = Gateway(tmp_path, {"staff": pinned(realm.issuer, place.ca, STRANGER, OTHER)}, APPS)
    gateway.write()
    result = run("pins", "--provider", "staff", "--config", gateway.path)
    assert result.returncode == 1 and "NO PIN MATCHES: every connection is refused (mode enforce)" in result.stdout
    assert place.leaf.pin in result.stdout


# MARK: the demo


def test_the_demo_runs_pinned_to_its_own_simulators(tmp_path):
    with Demo(tmp_path, "--provider", "all") as demo:
        def all_matched():
            status = request(demo.operations, "/status").json
            found = {host["provider"]: host for host in status["provider_hosts"]}
            return len(found) == 14 and all(host["matched_at"] for host in found.values()) and found

        found = eventually(all_matched, "every simulator shows its pinned key", 20)
        assert {host["mode"] for host in found.values()} == {"enforce"}
        assert {host["unused_pins"] for host in found.values()} == {1}
        assert demo.sign_in("google", "ada").page.status == 200


def test_the_demo_shows_what_a_wrong_pin_does(tmp_path):
    with Demo(tmp_path, "--quirk", "wrong-pin") as demo:
        page = Browser(demo).visit("/oauth2/start/google?rd=/")
        assert page.status == 503 and "provider.pin_mismatch" in page.text
        assert [link.split("/start/")[1].split("?")[0] for link in links(page)] == ["github", "microsoft"]
        eventually(lambda: "event=pin.mismatch" in demo.process.log, "the log has the event")
        assert demo.sign_in("github", "ada").page.status == 200


def test_the_demo_shows_what_a_backup_pin_does(tmp_path):
    with Demo(tmp_path, "--quirk", "backup-pin") as demo:
        assert demo.sign_in("google", "ada").page.status == 200
        status = request(demo.operations, "/status").json
        assert [event["event"] for event in status["security_events"]] == ["pin.backup_matched"]
