# SPDX-License-Identifier: Apache-2.0
"""Token exchange for tokens of other issuers: a machine brings the token of its issuer, and gets one of the gateway (RFC 8693)."""

import json

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.machines import API, EC, RSA, Issuer
from support.oauth_client import Client, claims
from support.operations import command
from support.processes import eventually
from support.proofs import EC as KEY, OTHER, proof, thumbprint
from support.raw import request
from support.session_api import api
from support.tokens import Key, now
from support.upstream import Upstream

SECRET = "a secret of the service: 100% + more"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
JWT, ACCESS, ID = (f"urn:ietf:params:oauth:token-type:{name}" for name in ("jwt", "access_token", "id_token"))
CLOUD = "sts.amazonaws.com"
USER = "ci:repo:acme/wiki"


@pytest.fixture(scope="module")
def app():
    with Upstream() as app:
        yield app


def configured(folder, provider_server, app, issuer):
    token = {"upstream": app.address, "accept": ["session", "token"], "allow": "signed_in"}
    apps = {
        "wiki": {"path": "/", "machines": {"issuers": ["ci", "legacy"]}, **token},
        # Its users have to exchange their tokens before.
        "ledger": {"host": "ledger.localhost", "machines": {"exchanged": ["ci"]}, **token, "deny": [{"group": "interns", "provider": "ci"}]},
        # Its users are those of the provider: no token of an issuer gets in, by whatever way.
        "staff": {"host": "staff.localhost", **token},
    }
    common = {
        "grants": ["token_exchange"], "allow": "signed_in", "audiences": ["wiki", "ledger", "staff"], "exchange_issuers": ["ci", "legacy"],
    }
    clients = {
        "runner": {"type": "native", **common, "providers": [], "token_audiences": [CLOUD]},
        "service": {"type": "confidential", "secret": SECRET, **common},
        "third": {"type": "confidential", "secret": SECRET, **common},
        "bound": {"type": "native", "dpop": True, **common},
        "strict": {"type": "native", **common, "allow": [{"user": "ci:repo:acme/other"}]},
        "fresh": {"type": "native", **common, "allow": [{"provider": "ci", "authenticated": "within 5m"}]},
        "short": {"type": "native", **common, "access_token_lifetime": "2m"},
        "own": {"type": "confidential", "secret": SECRET, **common, "exchange_issuers": None},
    }
    gateway = Gateway(
        folder, {"mock": oidc(provider_server.realm("mock").issuer)}, apps,
        gateway={
            "session_api": "/auth", "trusted_proxies": ["127.0.0.1"]
        }
    )
    common = {"audience": [API], "issuer": issuer.url, "clock_leeway": "0s"}
    gateway.configuration["issuers"] = {
        "ci": {"type": "jwt", "require": {"owner": "acme"}, "profile": {"groups": "/realm/groups"}, **common},
        "legacy":
            {
                "type": "introspection", "introspection_endpoint": f"{issuer.url}/introspect", "client_id": "gateway",
                "client_secret": "${env:TEST_CLIENT_SECRET}", "audience": API, "issuer": "https://legacy.example.com"
            },
    }
    gateway.configuration["clients"] = {
        name: {key: value for key, value in client.items() if value is not None} for name, client in clients.items()
    }
    gateway.configuration["sessions"] = {"max_per_user": 2}
    return gateway


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, app, issuer):
    with configured(tmp_path_factory.mktemp("exchange"), provider_server, app, issuer) as gateway:
        yield gateway


def client(gateway, name="runner"):
    return Client(gateway, name, "unused:", SECRET if name in ("service", "third", "own") else None)


def exchange(client, subject, kind=JWT, fields=(), **more):
    credentials, form = client.credentials()
    form = {**form, "grant_type": EXCHANGE, "subject_token": subject, "subject_token_type": kind, **more}
    return client.ask("POST", "/oauth2/token", form, [*credentials, *fields])


def error(response):
    return response.status, response.json["error"]


def received(app, response):
    assert response.status == 200, response
    return app.requests[-1]


def reason(gateway, response):
    """The line about the incident."""
    incident = response.json["incident"]
    eventually(lambda: incident in gateway.log, "the incident is in the log")
    assert gateway.log.count(incident) == 1
    return next(line for line in gateway.log.splitlines() if incident in line)


@pytest.mark.parametrize("kind", [JWT, ACCESS, ID])
def test_rfc_8693_2_2_1_a_token_of_an_issuer_becomes_one_of_the_gateway(gateway, issuer, app, kind):
    found = client(gateway)
    response = exchange(found, issuer.token(), kind, audience="wiki", scope="openid groups")
    assert response.status == 200 and response.get("cache-control") == "no-store"
    members = response.json
    assert set(members) == {"access_token", "issued_token_type", "token_type", "expires_in", "scope"}
    assert (members["issued_token_type"], members["token_type"], members["scope"]) == (ACCESS, "Bearer", "openid groups")
    assert 295 <= members["expires_in"] <= 300, "it ends with the token of the issuer, in 300 seconds"
    token = found.verified(members["access_token"], gateway.origin, "at+jwt")
    assert (token["sub"], token["client_id"], token["aud"]) == (USER, "runner", gateway.origin)
    assert token["exp"] - token["iat"] == members["expires_in"] and "act" not in token and "auth_time" not in token
    sent = received(app, found.call(members["access_token"]))
    assert sent.get("x-forwarded-user") == USER and sent.get("x-forwarded-groups") == "ci,deployers"
    assert sent.get("authorization") is None and sent.get("x-forwarded-provider") == "ci"
    assert found.userinfo(members["access_token"]).status == 401, "it is for the app that was named"
    both = exchange(found, issuer.token(), kind, scope="openid groups").json["access_token"]
    assert set(found.userinfo(both).json["groups"]) == {"deployers", "ci"}


def test_without_a_target_it_is_for_the_apps_that_accept_the_issuer(gateway, issuer):
    found = client(gateway)
    token = exchange(found, issuer.token()).json["access_token"]
    assert set(claims(token)["aud"]) == {gateway.origin, f"http://ledger.localhost:{gateway.port}"}
    for host, status in ((gateway.host, 200), (f"ledger.localhost:{gateway.port}", 200), (f"staff.localhost:{gateway.port}", 401)):
        assert found.call(token, host=host).status == status, host


@pytest.mark.parametrize("target", ["staff", "https://elsewhere.example.com"])
def test_an_app_that_does_not_accept_the_issuer_is_not_a_target(gateway, issuer, target):
    assert error(exchange(client(gateway), issuer.token(), audience=target)) == (400, "invalid_target")


def test_the_rules_of_each_app_decide_about_the_user(gateway, issuer):
    token = issuer.token(realm={"groups": ["interns"]})
    assert error(exchange(client(gateway), token, audience="ledger")) == (400, "invalid_target")
    found = exchange(client(gateway), token).json["access_token"]
    assert claims(found)["aud"] == gateway.origin


@pytest.mark.parametrize("name", ["strict", "fresh"])
def test_the_rules_of_the_client_decide_about_the_user(gateway, issuer, name):
    response = exchange(client(gateway, name), issuer.token())
    assert error(response) == (400, "invalid_request")
    assert USER in reason(gateway, response)


def test_rfc_8693_2_2_2_what_the_issuer_did_not_issue_for_the_gateway_is_rejected(gateway, issuer):
    found = client(gateway)
    cases = {
        "signature": issuer.token(Key("e1", "ES256")), "aud": issuer.token(aud="https://other.example.com"),
        "exp": issuer.token(exp=now() - 1), "owner": issuer.token(owner="evil"), "nbf": issuer.token(nbf=now() + 300),
        "cnf": issuer.token(cnf={"jkt": thumbprint(KEY)}), "iat": issuer.token(iat=now() + 300),
    }
    for rule, token in cases.items():
        response = exchange(found, token)
        assert error(response) == (400, "invalid_request"), rule
        line = reason(gateway, response)
        assert "token.rejected" in line and rule in line and token not in line, line


@pytest.mark.parametrize("text", ["", "x", "a b", "a.b.c", "é", "a" * 15_000])
def test_a_text_that_is_not_a_token_is_rejected(gateway, text):
    assert error(exchange(client(gateway), text)) == (400, "invalid_request")


def test_a_token_larger_than_a_request_may_be_is_not_read(gateway, issuer):
    before = len(issuer.calls)
    assert exchange(client(gateway), "a" * 16_384, ACCESS).status == 413
    assert len(issuer.calls) == before


def test_a_token_of_an_issuer_that_the_client_does_not_list_is_rejected(gateway, issuer):
    foreign = Issuer()
    try:
        assert error(exchange(client(gateway), foreign.token())) == (400, "invalid_request")
        assert foreign.calls == [], "it was not even asked"
    finally:
        foreign.server.shutdown()
    for kind in (JWT, ACCESS):
        assert error(exchange(client(gateway, "own"), issuer.token(), kind)) == (400, "invalid_request")


@pytest.mark.parametrize("change", [{"actor_token": "x"}, {"subject_token_type": "urn:ietf:params:oauth:token-type:saml2"}, {
    "requested_token_type": ID, "audience": "wiki"
}])
def test_rfc_8693_2_1_parameters_that_are_not_supported(gateway, issuer, change):
    kind = change.pop("subject_token_type", JWT)
    assert error(exchange(client(gateway), issuer.token(), kind, **change)) == (400, "invalid_request")


def test_a_client_with_a_secret_has_to_prove_it(gateway, issuer):
    assert exchange(client(gateway, "service"), issuer.token(), audience="wiki").status == 200
    impostor = Client(gateway, "service", "unused:", "another secret that is long enough, too")
    assert error(exchange(impostor, issuer.token(), audience="wiki")) == (401, "invalid_client")


def test_rfc_9449_5_the_new_token_is_bound_to_the_key_of_the_client(gateway, issuer):
    found = client(gateway, "bound")
    url = f"{gateway.origin}/oauth2/token"
    assert error(exchange(found, issuer.token())) == (400, "invalid_dpop_proof")
    response = exchange(found, issuer.token(), fields=[("DPoP", proof(KEY, "POST", url))], audience="wiki")
    assert response.json["token_type"] == "DPoP"
    token = response.json["access_token"]
    assert claims(token)["cnf"] == {"jkt": thumbprint(KEY)}
    assert found.call(token).status == 401

    def call(key):
        fields = [("Authorization", f"DPoP {token}"), ("DPoP", proof(key, "GET", f"{gateway.origin}/x", token))]
        return request(gateway.port, "/x", host=gateway.host, fields=fields).status

    assert (call(KEY), call(OTHER)) == (200, 401)


def test_it_lives_no_longer_than_the_client_allows(gateway, issuer):
    members = exchange(client(gateway, "short"), issuer.token(), audience="wiki").json
    assert members["expires_in"] == 120


def test_it_cannot_be_refreshed(gateway, issuer):
    assert "refresh_token" not in exchange(client(gateway), issuer.token(), scope="openid offline_access").json


def test_an_opaque_token_is_described_by_its_issuer(gateway, issuer, app):
    found = client(gateway)
    issuer.active["opaque"] = {"active": True, "aud": API, "sub": "device-7"}
    members = exchange(found, "opaque", ACCESS, audience="wiki").json
    assert members["expires_in"] == 600, "the issuer reports no end: it is the client's access_token_lifetime"
    assert received(app, found.call(members["access_token"])).get("x-forwarded-user") == "legacy:device-7"
    assert error(exchange(found, "another", ACCESS)) == (400, "invalid_request")


def test_an_issuer_that_is_down_is_an_error_that_passes(gateway, issuer):
    issuer.down = True
    try:
        response = exchange(client(gateway), "opaque", ACCESS)
    finally:
        issuer.down = False
    assert error(response) == (503, "temporarily_unavailable") and response.get("retry-after") == "2"
    assert "/introspect responded 503" in reason(gateway, response)


@pytest.mark.parametrize("by", ["revoke", "logout", "operator"])
def test_the_sign_in_can_be_ended(gateway, issuer, by):
    found = client(gateway)
    user = f"repo:acme/{by}"
    token = exchange(found, issuer.token(sub=user), audience="wiki").json["access_token"]
    other = exchange(found, issuer.token(sub=user), audience="wiki").json["access_token"]
    assert found.call(token).status == found.call(other).status == 200
    if by == "revoke":
        assert found.revoke(token).status == 200
    elif by == "logout":
        assert api(gateway, "POST", "logout", token=token).json == {}
    else:
        command(gateway, "sessions", "revoke", "--user", f"ci:{user}")
    assert found.call(token).status == 401
    assert found.call(other).status == (401 if by == "operator" else 200)
    assert exchange(found, issuer.token(sub=user), audience="wiki").status == 200


def test_many_jobs_of_one_user_do_not_end_each_other(gateway, issuer):
    """sessions.max_per_user is 2 here: it is about users with browsers."""
    found = client(gateway)
    tokens = [exchange(found, issuer.token(sub="repo:acme/many"), audience="wiki").json["access_token"] for _ in range(6)]
    assert {found.call(token).status for token in tokens} == {200}
    shown = json.loads(command(gateway, "sessions", "list", "--user", "ci:repo:acme/many", "--json"))["sessions"]
    assert len(shown) == 6 and {(one["provider"], one["host"]) for one in shown} == {("ci", "client:runner")}


def test_a_service_that_receives_the_token_acts_for_its_user(gateway, issuer, app):
    found, service = client(gateway), client(gateway, "service")
    token = exchange(found, issuer.token(), audience="wiki").json["access_token"]
    response = exchange(service, token, ACCESS, audience="ledger")
    assert response.status == 200, response
    mine = response.json["access_token"]
    assert claims(mine)["act"] == {"sub": "service"} and claims(mine)["sub"] == USER
    ledger = f"ledger.localhost:{gateway.port}"
    assert received(app, service.call(mine, host=ledger)).get("x-forwarded-user") == USER
    assert found.revoke(token).status == 200
    assert service.call(mine, host=ledger).status == 401
    # A client that does not list the issuer has no users of it.
    again = exchange(found, issuer.token(), audience="wiki").json["access_token"]
    assert error(exchange(client(gateway, "own"), again, ACCESS, audience="wiki")) == (400, "invalid_grant")


def test_a_chain_of_three_clients_ends_with_the_first(gateway, issuer):
    found = client(gateway)
    first = exchange(found, issuer.token(), audience="wiki").json["access_token"]
    second = exchange(client(gateway, "service"), first, ACCESS, audience="wiki").json["access_token"]
    third = exchange(client(gateway, "third"), second, ACCESS, audience="ledger").json["access_token"]
    assert claims(third)["act"] == {"sub": "third", "act": {"sub": "service"}}
    ledger = f"ledger.localhost:{gateway.port}"
    assert found.call(third, host=ledger).status == 200
    assert found.revoke(first).status == 200
    assert found.call(third, host=ledger).status == 401


def test_an_app_may_take_exchanged_tokens_only(gateway, issuer, app):
    """So what the client demands, such as a bound key, holds for all users of the issuer."""
    found, raw = client(gateway), issuer.token()
    ledger = f"ledger.localhost:{gateway.port}"
    assert found.call(raw).status == 200
    assert found.call(raw, host=ledger).status == 401
    # Beside a session the app gets neither.
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/x").status == 200 and browser.visit(f"http://{ledger}/x").status == 200
    fields = [("Cookie", f"gatehouse={browser.ticket('ledger.localhost')}"), ("Authorization", f"Bearer {raw}")]
    sent = received(app, request(gateway.port, "/x", host=ledger, fields=fields))
    assert sent.get("x-forwarded-provider") == "mock" and sent.get("authorization") is None
    assert found.call(exchange(found, raw, audience="ledger").json["access_token"], host=ledger).status == 200


def test_an_expired_token_is_not_exchanged_within_the_leeway_of_clocks(tmp_path, provider_server, app, issuer):
    gateway = configured(tmp_path, provider_server, app, issuer)
    gateway.configuration["issuers"]["ci"]["clock_leeway"] = "5m"
    with gateway:
        response = exchange(client(gateway), issuer.token(exp=now() - 100), audience="wiki")
        assert error(response) == (400, "invalid_request") and "which is over" in reason(gateway, response)
        members = exchange(client(gateway), issuer.token(exp=now() + 100), audience="wiki").json
        assert 95 <= members["expires_in"] <= 100


@pytest.mark.parametrize("text", ["gth_" + "a" * 43, "ghr_" + "a" * 43])
def test_a_secret_of_the_gateway_is_not_sent_to_an_issuer(gateway, issuer, text):
    before = len(issuer.calls)
    assert error(exchange(client(gateway), text, ACCESS)) == (400, "invalid_request")
    assert len(issuer.calls) == before


def test_a_machine_gets_no_scope_of_an_app(tmp_path, provider_server, app, issuer):
    gateway = configured(tmp_path, provider_server, app, issuer)
    gateway.configuration["apps"]["wiki"] |= {"scopes": {"write": "Change pages"}, "deny": [{"method": "POST", "not": {"scope": "write"}}]}
    with gateway:
        members = exchange(client(gateway), issuer.token(), audience="wiki", scope="openid write").json
        assert members["scope"] == "openid"
        assert client(gateway).call(members["access_token"], method="POST").status == 403


def test_a_token_for_a_cloud_is_not_a_session_at_the_gateway(gateway, issuer):
    found = client(gateway)
    response = exchange(found, issuer.token(sub="repo:acme/cloud"), audience=CLOUD, requested_token_type=ID)
    identity = found.verified(response.json["access_token"], CLOUD)
    assert (identity["sub"], response.json["token_type"]) == ("ci:repo:acme/cloud", "N_A") and "grant" not in identity
    assert found.call(response.json["access_token"]).status == 401
    assert json.loads(command(gateway, "sessions", "list", "--user", "ci:repo:acme/cloud", "--json"))["sessions"] == []


def test_exchanges_of_one_network_are_bounded(tmp_path, provider_server, app, issuer):
    gateway = configured(tmp_path, provider_server, app, issuer)
    gateway.configuration["gateway"]["limits"] = {"sign_ins_per_minute": 10}
    with gateway:
        found, forged = client(gateway), issuer.token(Key("e1", "ES256"))
        # What is not a token of an issuer costs nothing.
        assert [exchange(found, "a b").status for _ in range(11)] == [400] * 11
        assert [exchange(found, forged).status for _ in range(11)] == [400] * 10 + [503]
        response = exchange(found, issuer.token())
        assert error(response) == (503, "temporarily_unavailable") and 1 <= int(response.get("retry-after")) <= 60
        assert "signin.too_often" in reason(gateway, response)
        assert exchange(client(gateway, "service"), issuer.token()).status == 200, "a client with a secret is not among them"


def test_verifications_are_counted_and_the_grant_is_logged(gateway, issuer):
    assert exchange(client(gateway), issuer.token(RSA), audience="wiki").status == 200
    assert 'gatehouse_token_verifications_total{issuer="ci",result="ok"}' in gateway.metrics()
    eventually(lambda: any("client=runner" in line and f"user={USER}" in line for line in gateway.log.splitlines()), "logged")


def test_a_changed_issuer_ends_what_its_tokens_were_exchanged_for(tmp_path, provider_server, app, issuer):
    gateway = configured(tmp_path, provider_server, app, issuer)
    with gateway:
        found = client(gateway)
        token = exchange(found, issuer.token(EC), audience="wiki").json["access_token"]
        assert found.call(token).status == 200
        gateway.configuration["issuers"]["ci"]["require"] = {"owner": ["acme"], "sub": ["repo:acme/other"]}
        gateway.write()
        gateway.reload()
        eventually(lambda: found.call(token).status == 401, "the token is rejected")
