# SPDX-License-Identifier: Apache-2.0
"""Mutual TLS towards providers (RFC 8705): certificates that they accept, refuse and that change (M-03)."""

import shutil

import pytest

from support.chains import CLIENT_AUTH, EXPIRED, Authority
from support.gateway import ENVIRONMENT, Gateway, oidc, run
from support.pinned import asked_by_gateway, paired, pinned, sign_in
from support.processes import eventually
from support.tls_servers import SecureProviderServer

REFUSED = "it asked for a certificate and ended the connection after"
SERVERS, CLIENTS, STRANGERS = Authority("servers"), Authority("clients"), Authority("strangers")
SERVER = SERVERS.issue("localhost", "127.0.0.1")


def client(authority=CLIENTS, **more):
    """A certificate of the gateway."""
    return authority.issue(common_name="gatehouse", usages=(CLIENT_AUTH, ), **more)


@pytest.fixture
def server(tmp_path):
    """A provider that demands a certificate of its authority on each connection."""
    with SecureProviderServer(*SERVER.files(tmp_path)) as server:
        server.demand(CLIENTS.file(tmp_path))
        yield server


def provider(realm, folder, leaf, **more):
    """A provider without a secret, to which this certificate is shown."""
    tls = {"ca_file": SERVERS.file(folder)}
    if leaf:
        certificate, key = leaf.files(folder, "client")
        tls |= {"certificate": certificate, "private_key": key}
    entry = oidc(realm.issuer, tls=tls, **more)
    del entry["client_secret"]
    return entry


def gateway(folder, entry, app, **more):
    apps = {"app": {"upstream": app.address, "allow": "signed_in"}}
    return Gateway(folder / "gateway", {"staff": entry}, apps, **more)


def token_requests(realm):
    return [request for request in realm.requests if request["path"] == "token"]


@pytest.mark.parametrize("method", [None, "tls_client_auth", "self_signed_tls_client_auth"])
@pytest.mark.parametrize("key", ["ec", "rsa"])
def test_m_03_a_certificate_is_the_proof(method, key, tmp_path, server, provider_server, app):
    """RFC 8705 §2: the request has the client id, and no other proof."""
    realm = paired(server, provider_server, f"mutual-{method}-{key}")
    realm.metadata["token_endpoint_auth_methods_supported"] = [method or "tls_client_auth"]
    entry = provider(realm, tmp_path, client(key=key), **({"client_authentication": method} if method else {}))
    with gateway(tmp_path, entry, app) as running:
        page, _ = sign_in(running)
        assert page.status == 200, page.text
    [request] = token_requests(realm)
    assert request["form"]["client_id"] == "gatehouse" and "Authorization" not in request["fields"]
    assert not {"client_secret", "client_assertion"} & set(request["form"])


def test_m_03_the_endpoints_for_certificates_are_used(tmp_path, server, provider_server, app):
    """RFC 8705 §5: `mtls_endpoint_aliases`, on another host than the other endpoints."""
    with SecureProviderServer(*SERVER.files(tmp_path, "open")) as other:
        realm = paired(other, provider_server, "aliased")
        server.realms["aliased"] = realm
        alias = f"{server.origin}/aliased"
        realm.metadata["token_endpoint_auth_methods_supported"] = ["tls_client_auth"]
        realm.metadata["mtls_endpoint_aliases"] = {"token_endpoint": f"{alias}/token", "userinfo_endpoint": f"{alias}/userinfo"}
        realm.user = {"sub": "ada"}
        with gateway(tmp_path, provider(realm, tmp_path, client()), app) as running:
            page, _ = sign_in(running)
            assert page.status == 200, page.text
        assert b"POST /aliased/token" in server.application_bytes and b"GET /aliased/userinfo" in server.application_bytes
        assert b"/aliased/token" not in other.application_bytes and b"/aliased/userinfo" not in other.application_bytes


@pytest.mark.parametrize(
    "aliases", [{"token_endpoint": "http://localhost:1/token"}, {"token_endpoint": 7}, {"userinfo_endpoint": "https://a:b@localhost/"}]
)
def test_m_03_an_endpoint_for_certificates_that_cannot_be_used_ends_sign_ins(aliases, tmp_path, server, provider_server, app):
    realm = paired(server, provider_server, "odd-alias")
    realm.metadata["mtls_endpoint_aliases"] = aliases
    with gateway(tmp_path, provider(realm, tmp_path, client()), app) as running:
        page, _ = sign_in(running)
        assert page.status == 502 and not token_requests(realm)
        assert "is not an https URL" in running.log


@pytest.mark.parametrize(
    "leaf, part", [
        (client(STRANGERS), REFUSED), (client(valid=EXPIRED), REFUSED),
        (None, "it asked for a certificate of the gateway and ended the connection"),
    ], ids=["unknown", "expired", "none"]
)
def test_m_03_a_provider_that_refuses_the_certificate_is_named_with_it(leaf, part, tmp_path, server, provider_server, app):
    realm = paired(server, provider_server, "refusing")
    entry = provider(realm, tmp_path, leaf)
    if not leaf:
        entry["client_secret"] = "${env:TEST_CLIENT_SECRET}"
    with gateway(tmp_path, entry, app) as running:
        page, browser = sign_in(running)
        assert page.status == 502 and not browser.ticket()
        assert part in running.log and (not leaf or str(tmp_path / "client.pem") in running.log)
        assert asked_by_gateway(realm) == []
    path = tmp_path / "gateway" / "providers.yaml"
    result = run("check", "--online", "--config", path, env=ENVIRONMENT)
    assert result.returncode == 1, result.stdout
    assert (part if not leaf or leaf.issuer is STRANGERS else "expired on") in result.stdout + result.stderr


def test_m_03_pins_are_checked_with_a_certificate_as_without(tmp_path, server, provider_server, app):
    realm = paired(server, provider_server, "pinned-mutual")
    entry = provider(realm, tmp_path, client())
    entry["tls"]["pins"] = pinned(realm.issuer, "", STRANGERS.pin, CLIENTS.pin)["tls"]["pins"]
    with gateway(tmp_path, entry, app) as running:
        page, _ = sign_in(running)
        assert page.status == 503 and asked_by_gateway(realm) == []


def test_m_03_a_certificate_that_is_renewed_in_its_file_is_used(tmp_path, server, provider_server, app):
    """The files are watched: what renews them needs no reload."""
    realm = paired(server, provider_server, "renewed")
    entry = provider(realm, tmp_path, client(STRANGERS))
    with gateway(tmp_path, entry, app) as running:
        assert sign_in(running)[0].status == 502
        certificate, key = client().files(tmp_path, "next")
        for source, target in [(key, "client.key"), (certificate, "client.pem")]:
            shutil.move(source, tmp_path / target)
        eventually(lambda: sign_in(running)[0].status == 200, "the new certificate is shown", 30)


def checked(folder, realm, leaf, **changes):
    """What `gatehouse check` prints about a provider with a certificate."""
    entry = provider(realm, folder, leaf)
    entry["tls"] |= changes
    checked = Gateway(folder / "gateway", {"staff": entry}, {"app": {"upstream": "http://127.0.0.1:1", "allow": "signed_in"}})
    checked.write()
    result = run("check", "--config", checked.path, env=ENVIRONMENT)
    return result.returncode, result.stdout + result.stderr


def test_m_03_check_reports_how_long_a_certificate_is_valid(tmp_path, provider_server):
    realm = provider_server.realm("checked")
    code, text = checked(tmp_path, realm, client(valid=(-1, 31)))
    assert code == 0 and "warning" not in text
    code, text = checked(tmp_path, realm, client(valid=(-1, 29)))
    assert code == 0 and "warning" in text and "client.pem of 'tls' expires on" in text
    code, text = checked(tmp_path, realm, client(valid=EXPIRED))
    assert code == 1 and "client.pem of 'tls' expired on" in text


def test_m_03_check_finds_files_that_cannot_be_used(tmp_path, provider_server):
    realm = provider_server.realm("checked")
    other = client().files(tmp_path, "other")
    code, text = checked(tmp_path, realm, client(), private_key=other[1])
    assert code == 1 and "does not belong to the certificate" in text and "other.key" in text
    code, text = checked(tmp_path, realm, client(), private_key=other[0])
    assert code == 1 and "holds no PEM private key" in text
    code, text = checked(tmp_path, realm, client(), private_key=str(tmp_path / "missing.key"))
    assert code == 1 and "missing.key" in text
    (tmp_path / "other.key").chmod(0o644)
    code, text = checked(tmp_path, realm, client(), certificate=other[0], private_key=other[1])
    assert code == 0 and "other.key" in text and "warning" in text
