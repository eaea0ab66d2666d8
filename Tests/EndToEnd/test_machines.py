# SPDX-License-Identifier: Apache-2.0
"""Tokens of machines instead of sessions: JWTs of issuers, introspection, service tokens, Basic, and calls across origins."""

import base64
import json
import re
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import jwt
import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc, run
from support.machines import API, RSA, Issuer, made
from support.processes import eventually
from support.prometheus import Prometheus
from support.raw import Wire, request
from support.tokens import Key, b64, now, token
from support.upstream import Upstream, responds
from support.websockets import agrees, handshake

OTHER = Key("e1", "ES256")
SPA, FOREIGN = "https://spa.example.com", "https://evil.example.com"


BOT, BOT_ENTRY = made("bot", "--group", "deployers")
READER, READER_ENTRY = made("reader")
OLD, OLD_ENTRY = made("old")


@pytest.fixture(scope="module")
def app():
    with Upstream() as app:
        yield app


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, app, issuer):
    def entry(path, machines, **more):
        return {"path": path, "upstream": app.address, "allow": "signed_in", "machines": machines, **more}

    apps = {
        "wiki": entry("/", {"issuers": ["ci"], "service_tokens": ["bot", "old"], "basic": True}, public=["/open/"],
                      origins=[SPA], deny=[{"path": "/secret/**"}]),
        "strict": entry("/strict", {"issuers": ["ci"], "service_tokens": ["bot", "reader"]}, providers=[],
                        allow=[{"user": "ci:repo:acme/wiki"}, {"group": "deployers", "provider": "token"}],
                        deny=[{"path": "/strict/admin/**"}]),
        "opaque": entry("/opaque", {"issuers": ["legacy"]}),
        "closed": {"path": "/closed", "upstream": app.address, "allow": "signed_in", "public": ["/closed/open/"]},
    }
    folder = tmp_path_factory.mktemp("machines")
    gateway = Gateway(folder, {"mock": oidc(provider_server.realm("mock").issuer)}, apps)
    gateway.configuration["issuers"] = {
        "ci":
            {
                "type": "jwt", "issuer": issuer.url, "audience": [API], "require": {"owner": ["acme", "umbrella"]},
                "profile": {"groups": "/realm/groups"}, "clock_leeway": "0s"
            },
        "legacy":
            {
                "type": "introspection", "issuer": issuer.url, "audience": API, "cache": "1s",
                "introspection_endpoint": f"{issuer.url}/introspect", "client_id": "gate way", "client_secret":
                    "${env:TEST_CLIENT_SECRET}"
            },
    }
    gateway.configuration["service_tokens"] = {
        "bot": BOT_ENTRY, "reader": READER_ENTRY, "old": {**OLD_ENTRY, "expires": "2026-01-01"}
    }
    gateway.configuration["logs"] = {"format": "json", "access": str(folder / "access.log")}
    with gateway:
        yield gateway


def call(gateway, path="/page", authorization=None, method="GET", fields=(), body=b""):
    fields = list(fields) + ([("Authorization", authorization)] if authorization else [])
    return request(gateway.port, path, f"gate.localhost:{gateway.port}", method, fields, body)


def bearer(text):
    return f"Bearer {text}"


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def received(response):
    """What the app received."""
    assert response.status == 200, response
    return {name.lower(): value for name, value in response.json["fields"]}


def user(response):
    return received(response)["x-forwarded-user"]


def signed_in(gateway, provider_server):
    with provider_server.realm("mock").fresh():
        browser = Browser(gateway)
        assert browser.sign_in("mock", "/").status == 200
    return ("Cookie", f"gatehouse={browser.ticket()}")


def test_a_token_of_an_issuer_opens_the_app_with_a_profile_and_an_assertion(gateway, issuer):
    fields = received(call(gateway, authorization=bearer(issuer.token())))
    assert fields["x-forwarded-user"] == "ci:repo:acme/wiki"
    assert fields["x-forwarded-provider"] == "ci" and fields["x-forwarded-groups"] == "ci,deployers"
    keys = jwt.PyJWKSet.from_dict(call(gateway, "/oauth2/jwks.json").json)
    assertion = fields["x-gatehouse-assertion"]
    key = keys[jwt.get_unverified_header(assertion)["kid"]]
    claims = jwt.decode(assertion, key, ["ES256"], audience=gateway.origin)
    assert claims["sub"] == "ci:repo:acme/wiki" and claims["groups"] == ["ci", "deployers"]
    assert claims["exp"] - now() <= 300


def test_the_app_never_gets_the_token(gateway, issuer, app):
    for authorization in (bearer(issuer.token()), bearer(BOT), basic("any", BOT)):
        for path in ("/page", "/open/page"):
            assert "authorization" not in received(call(gateway, path, authorization))


def test_no_app_gets_a_service_token(gateway, provider_server):
    cookie = signed_in(gateway, provider_server)
    for authorization in (bearer(BOT), basic("u", BOT), basic(BOT, ""), basic("u", BOT + "x")):
        assert "authorization" not in received(call(gateway, "/closed/open/x", authorization))
        assert "authorization" not in received(call(gateway, "/closed/x", authorization, fields=[cookie]))


@pytest.mark.parametrize(
    "value", [
        f"Bearer  {BOT}", f"Bearer\t{BOT}", f'Bearer "{BOT}"', f"Token {BOT}", BOT, basic("x", BOT), basic(BOT, "x"), f"token={BOT}",
        f"ApiKey {BOT},x", basic("x:y", BOT).rstrip("="), f"Digest response=\"{BOT}\"",
    ],
    ids=range(11),
)
def test_d_02_a_credential_of_the_gateway_reaches_no_app_however_it_is_written(value, gateway, provider_server):
    cookie = signed_in(gateway, provider_server)
    assert "authorization" not in received(call(gateway, "/closed/open/x", value))
    assert "authorization" not in received(call(gateway, "/closed/x", value, fields=[cookie]))
    assert "authorization" not in received(call(gateway, "/open/x", value))


def test_authorization_of_the_app_itself_reaches_it(gateway, provider_server):
    cookie = signed_in(gateway, provider_server)
    for authorization in (basic("ann", "secret"), "Bearer of-the-app", "Digest username=x", "Bearer", "Bearer  two"):
        fields = received(call(gateway, authorization=authorization, fields=[cookie]))
        assert fields["authorization"] == authorization.strip() and fields["x-forwarded-user"] == "mock:ada"


def test_a_token_decides_and_not_the_cookie_beside_it(gateway, issuer, provider_server):
    cookie = signed_in(gateway, provider_server)
    assert user(call(gateway, authorization=bearer(issuer.token()), fields=[cookie])) == "ci:repo:acme/wiki"
    assert user(call(gateway, authorization=bearer(BOT), fields=[cookie])) == "token:bot"
    expired = bearer(issuer.token(exp=now() - 5))
    assert call(gateway, authorization=expired, fields=[cookie]).status == 401
    assert call(gateway, authorization=bearer(BOT[:-1]), fields=[cookie]).status == 401


# GHSA-wcvh-g65p-v576 (A-59), RFC 8725, RFC 9068. A time is made when the test runs, minutes after the file
# was read.
INVALID = {
    "another audience": {"aud": "https://other.example.com"},
    "no audience": {"aud": None},
    "no expiry": {"exp": None},
    "expired": {"exp": lambda now: now - 5},
    "not valid yet": {"nbf": lambda now: now + 300},
    "issued in the future": {"iat": lambda now: now + 300},
    "another owner": {"owner": "evil"},
    "an owner with more": {"owner": "acme-evil"},
    "no owner": {"owner": None},
    "an object as owner": {"owner": {"acme": "acme"}},
    "no subject": {"sub": None},
    "a number as subject": {"sub": ["repo:acme/wiki"]},
    "expiry as text": {"exp": lambda now: str(now + 300)},
    "bound to a key": {"cnf": {"jkt": "abc"}},
    "a logout token": {"events": {"http://schemas.openid.net/event/backchannel-logout": {}}},
}


@pytest.mark.parametrize("claims", INVALID.values(), ids=INVALID)
def test_a_59_a_token_with_other_claims_is_rejected(gateway, issuer, app, claims):
    before = len(app.requests)
    claims = {name: value(now()) if callable(value) else value for name, value in claims.items()}
    response = call(gateway, authorization=bearer(issuer.token(**claims)))
    assert response.status == 401 and response.json["error"] == "token.rejected"
    assert 'Bearer realm="gatehouse", error="invalid_token"' in response.all("www-authenticate")
    assert len(app.requests) == before


def test_a_59_a_token_with_another_form_or_signature_is_rejected(gateway, issuer, app):
    before = len(app.requests)
    good = issuer.token()
    head, claims, signature = good.split(".")
    unsigned = b64(json.dumps({"alg": "none", "typ": "JWT"}))
    symmetric = token(RSA, issuer.claims(), algorithm="HS256")
    forms = [
        f"{head}.{claims}.", f"{unsigned}.{claims}.", f"{unsigned}.{claims}.{signature}", f"{head}.{claims}", symmetric,
        issuer.token(OTHER), issuer.token(header={"kid": "unknown"}), issuer.token(header={"typ": "logout+jwt"}),
        issuer.token(header={"crit": ["b64"], "b64": False}), issuer.token(header={"jwk": OTHER.jwk, "kid": "x"}),
        f"{head}.{claims}.{signature}=", f"{head}.{claims}.{'A' * len(signature)}", good + "A",
    ]
    for form in forms:
        response = call(gateway, authorization=bearer(form))
        assert response.status == 401, form
    assert len(app.requests) == before


def test_each_changed_character_of_a_signature_is_rejected(gateway, issuer):
    head, claims, signature = issuer.token().split(".")
    for index in range(0, len(signature), 3):
        other = "A" if signature[index] != "A" else "B"
        changed = f"{signature[:index]}{other}{signature[index + 1:]}"
        assert call(gateway, authorization=bearer(f"{head}.{claims}.{changed}")).status == 401, index


def test_t_21_the_field_has_one_reading(gateway, issuer):
    good = issuer.token()
    for value in (f"Bearer\t{good}", f"Bearer \t{good}", f"Bearer {good} x", f"Bearer {good},{good}", "Bearer", f"Bearer={good}"):
        assert call(gateway, authorization=value).status == 401, value
    twice = [("Authorization", bearer(good)), ("Authorization", bearer(good))]
    assert call(gateway, fields=twice).status == 400
    # D-02: RFC 6750 §2.1 has one space or more.
    for value in (f"bEARER {good}", f"Bearer   {good}"):
        assert user(call(gateway, authorization=value)) == "ci:repo:acme/wiki"


def test_a_token_counts_for_the_apps_that_name_its_issuer_only(gateway, issuer):
    good = bearer(issuer.token())
    assert call(gateway, "/page", good).status == 200
    response = call(gateway, "/closed/page", good)
    assert response.status == 401 and response.json["error"] == "sign_in_required"
    assert response.all("www-authenticate") == ['Cookie realm="gatehouse"']
    response = call(gateway, "/strict/page", bearer(issuer.token(iss="https://id.example.com")))
    assert response.status == 401 and response.json["error"] == "token.rejected"
    # The same issuer by another way of verification: what one has verified is not valid at the other (A-91).
    assert call(gateway, "/opaque/page", good).status == 401


def test_rules_decide_about_machines(gateway, issuer):
    assert user(call(gateway, "/strict/page", bearer(issuer.token()))) == "ci:repo:acme/wiki"
    response = call(gateway, "/strict/page", bearer(issuer.token(sub="repo:acme/other")))
    assert response.status == 403 and response.json["error"] == "policy.refused"
    assert user(call(gateway, "/strict/page", bearer(BOT))) == "token:bot"
    assert call(gateway, "/strict/page", bearer(READER)).status == 403
    assert call(gateway, "/strict/admin/x", bearer(BOT)).status == 403


def test_an_app_without_providers_has_no_sign_in(gateway):
    response = call(gateway, "/strict/page", fields=[("Accept", "text/html"), ("Sec-Fetch-Mode", "navigate")])
    assert response.status == 401 and "sign_in" not in response.json
    assert response.all("www-authenticate")[0] == 'Bearer realm="gatehouse"'


def test_a_service_token_is_accepted_where_it_is_listed_until_it_expires(gateway, provider_server):
    assert user(call(gateway, authorization=bearer(BOT))) == "token:bot"
    for wrong in (READER, OLD, BOT[:-1] + ("A" if BOT[-1] != "A" else "B"), "gth_", BOT.upper()):
        assert call(gateway, authorization=bearer(wrong)).status == 401, wrong
    log = gateway.log
    assert "does not accept 'reader'" in log and "'old' has expired" in log and "no service token with this hash" in log
    assert BOT not in log and READER not in log


def test_a_service_token_as_a_password(gateway):
    assert user(call(gateway, authorization=basic("x", BOT))) == "token:bot"
    assert user(call(gateway, authorization=basic(BOT, ""))) == "token:bot"
    assert user(call(gateway, authorization=basic(BOT, "x-oauth-basic"))) == "token:bot"
    assert call(gateway, authorization=basic("x", READER)).status == 401
    # An app that does not ask for it takes none.
    assert call(gateway, "/strict/page", basic("x", BOT)).status == 401
    # Browsers send a password by themselves, so another site must not cause a write with one.
    cross = [("Origin", FOREIGN), ("Sec-Fetch-Site", "cross-site")]
    assert call(gateway, "/page", basic("x", BOT), "POST", cross).status == 403
    assert call(gateway, "/page", bearer(BOT), "POST", cross).status == 200


def test_the_challenge_fits_the_client(gateway):
    response = call(gateway)
    assert response.status == 401 and response.json["sign_in"]
    challenges = response.all("www-authenticate")
    assert challenges[0].startswith("Basic ") and challenges[1] == 'Bearer realm="gatehouse"'
    script = call(gateway, fields=[("Sec-Fetch-Mode", "cors")])
    assert not any(value.startswith("Basic") for value in script.all("www-authenticate"))


def test_git_and_curl_get_in_with_a_service_token(gateway, app, tmp_path):
    folder = tmp_path / "served"
    for command in (
        ["init", "-q", "work"], ["-C", "work", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q",
                                 "--allow-empty", "-m", "first"], ["clone", "-q", "--bare", "work", "repo.git"],
        ["-C", "repo.git", "update-server-info"]
    ):
        folder.mkdir(exist_ok=True)
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)

    class Files(SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=folder)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    apps = {
        "files":
            {
                "upstream": f"http://127.0.0.1:{server.server_port}", "allow": "signed_in",
                "machines": {"service_tokens": ["bot"], "basic": True}
            }
    }
    other = Gateway(tmp_path / "gateway", gateway.configuration["providers"], apps)
    other.configuration["service_tokens"] = {"bot": BOT_ENTRY}
    with other:
        base = f"127.0.0.1:{other.port}"
        common = ["-c", f"http.extraHeader=Host: gate.localhost:{other.port}", "-c", "credential.helper="]

        def clone(user_part, name):
            return subprocess.run(
                ["git", *common, "clone", "-q", f"http://{user_part}{base}/repo.git", tmp_path / name],
                capture_output=True, text=True, env={"GIT_TERMINAL_PROMPT": "0", "PATH": "/usr/bin:/bin"}
            )

        assert clone(f"x:{BOT}@", "with").returncode == 0
        assert (tmp_path / "with" / ".git").exists()
        failed = clone("", "without")
        assert failed.returncode != 0 and "could not read Username" in failed.stderr
        curl = subprocess.run(
            ["curl", "-s", "-u", f"bot:{BOT}", "-H", f"Host: gate.localhost:{other.port}", f"http://{base}/repo.git/HEAD"],
            capture_output=True, text=True
        )
        assert curl.stdout.startswith("ref:")
    server.shutdown()


def job(issuer, **more):
    """The claims of a job of GitHub Actions, as its documentation has them."""
    claims = {
        "jti": "6f4762ed-0758-4ccb-808d-ee3af5d723a8", "sub": "repo:acme/wiki:environment:production",
        "environment": "production", "aud": API, "ref": "refs/heads/main", "sha": "af6ea2c3d1b8f0d0b8f0f0d0b8f0f0d0b8f0f0d0",
        "repository": "acme/wiki", "repository_owner": "acme", "actor_id": "12", "repository_visibility": "private",
        "repository_id": "74", "repository_owner_id": "65", "run_id": "8127", "run_number": "10", "run_attempt": "2",
        "runner_environment": "github-hosted", "actor": "octocat", "workflow": "Deploy the wiki", "head_ref": "",
        "base_ref": "", "event_name": "push", "ref_type": "branch", "ref_protected": "true",
        "job_workflow_ref": "acme/automation/.github/workflows/oidc.yml@refs/heads/main", "iss": issuer.url,
        "nbf": now() - 5, "exp": now() + 300, "iat": now(), **more
    }
    return token(RSA, {name: value for name, value in claims.items() if value is not None}, {"x5t": "example-thumbprint"})


def account(issuer, **more):
    """The token of a service account, as the TokenRequest API of Kubernetes makes it for a pod; its head has no `typ`."""
    claims = {
        "aud": ["gatehouse"], "exp": now() + 3607, "iat": now(), "iss": issuer.url, "jti": "f0a1c7d4-7c64-4c3c-9f0b-5c5f0a1c7d44",
        "kubernetes.io":
            {
                "namespace": "monitoring", "node": {"name": "node-1", "uid": "b3e2f1b4-7ab0-4b5d-8f3d-2a9f5a5e6c11"},
                "pod": {"name": "prometheus-0", "uid": "0d2b5a4e-5a5d-4f3a-a9cf-5a0c1a4f7e22"},
                "serviceaccount": {"name": "prometheus", "uid": "14ee3fa4-a7e2-420f-9f9a-dbc4507c3798"}, "warnafter": now() + 3607
            }, "nbf": now(), "sub": "system:serviceaccount:monitoring:prometheus", **more
    }
    head = json.dumps({"alg": "RS256", "kid": RSA.kid})
    return token(RSA, {name: value for name, value in claims.items() if value is not None}, head)


@pytest.fixture(scope="module")
def presets(tmp_path_factory, gateway, app):
    """A gateway with an issuer of each preset, each with an app."""
    actions, cluster = Issuer(), Issuer()
    apps = {
        "deployments":
            {
                "path": "/deployments", "upstream": app.address, "providers": [], "machines": {"issuers": ["actions"]},
                "allow": [{"provider": "actions", "group": "production"}]
            },
        "metrics":
            {
                "path": "/metrics", "upstream": app.address, "providers": [], "machines": {"issuers": ["cluster"]},
                "allow": [{"user": "cluster:system:serviceaccount:monitoring:prometheus"}]
            },
    }
    made = Gateway(tmp_path_factory.mktemp("presets"), gateway.configuration["providers"], apps)
    made.configuration["issuers"] = {
        "actions":
            {"type": "github_actions", "issuer": actions.url, "audience": API, "require": {"repository_owner": "acme"}},
        "cluster":
            {"type": "kubernetes", "issuer": cluster.url, "audience": "gatehouse", "keys_url": f"{cluster.url}/keys"},
    }
    with made:
        yield made, actions, cluster
    for issuer in (actions, cluster):
        issuer.server.shutdown()


def test_a_job_of_github_actions_has_the_profile_of_the_preset(presets):
    made, actions, _ = presets
    fields = received(call(made, "/deployments/x", bearer(job(actions))))
    assert fields["x-forwarded-user"] == "actions:repo:acme/wiki:environment:production"
    assert (fields["x-forwarded-preferred-username"], fields["x-forwarded-name"]) == ("acme/wiki", "Deploy the wiki")
    assert fields["x-forwarded-groups"] == "production" and "x-forwarded-email" not in fields
    # Another environment, and a job without one, are users as well, but the rule is about the environment.
    for environment in ("staging", None):
        assert call(made, "/deployments/x", bearer(job(actions, environment=environment))).status == 403
    for wrong in ({"repository_owner": "acme-evil"}, {"repository_owner": None}, {"aud": "https://github.com/acme"}, {"exp": None}):
        assert call(made, "/deployments/x", bearer(job(actions, **wrong))).status == 401, wrong


def test_a_service_account_of_kubernetes_has_the_profile_of_the_preset(presets):
    made, _, cluster = presets
    fields = received(call(made, "/metrics/x", bearer(account(cluster))))
    name = "system:serviceaccount:monitoring:prometheus"
    assert (fields["x-forwarded-user"], fields["x-forwarded-preferred-username"]) == (f"cluster:{name}", name)
    assert fields["x-forwarded-groups"] == "monitoring"
    # The keys come from `keys_url`, not from the metadata.
    assert "/keys" in cluster.calls and "/.well-known/openid-configuration" not in cluster.calls
    other = account(cluster, sub="system:serviceaccount:default:prometheus")
    assert call(made, "/metrics/x", bearer(other)).status == 403
    for wrong in (
        {"aud": ["https://kubernetes.default.svc.cluster.local"]}, {"exp": now() - 90},
        # A token of a Secret, which does not expire.
        {"iss": "kubernetes/serviceaccount", "aud": None, "exp": None},
    ):
        assert call(made, "/metrics/x", bearer(account(cluster, **wrong))).status == 401, wrong


def test_a_token_of_one_preset_is_rejected_by_the_other(presets):
    made, actions, cluster = presets
    assert call(made, "/metrics/x", bearer(job(actions, aud="gatehouse"))).status == 401
    assert call(made, "/deployments/x", bearer(account(cluster, aud=API, repository_owner="acme"))).status == 401


def test_prometheus_scrapes_an_app_with_a_service_token(gateway, tmp_path, app):
    """`authorization: { credentials_file: … }`, as in docs/machines.md; without it the app has no target that is up."""
    page = b"# TYPE wiki_pages gauge\nwiki_pages 7\n"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {len(page)}\r\n\r\n"
    app.script("/scraped/metrics", responds(head.encode() + page, close=False))
    entry = {
        "path": "/scraped", "upstream": app.address, "providers": [], "machines": {"service_tokens": ["reader"]},
        "allow": [{"user": "token:reader", "path": "/scraped/metrics", "method": ["GET"]}]
    }
    made = Gateway(tmp_path / "gateway", gateway.configuration["providers"], {"wiki": entry}, host="127.0.0.1")
    made.configuration["service_tokens"] = {"reader": READER_ENTRY}
    (tmp_path / "token").write_text(READER)
    target = {"metrics_path": "/scraped/metrics", "static_configs": [{"targets": [f"127.0.0.1:{made.port}"]}]}
    jobs = [
        {"job_name": "wiki", "authorization": {"credentials_file": str(tmp_path / "token")}, **target},
        {"job_name": "stranger", **target},
    ]
    with made, Prometheus(tmp_path, made, more=jobs) as prometheus:
        found, = eventually(lambda: prometheus.query("wiki_pages"), "the app is scraped", 20)
        assert (found["metric"]["job"], found["value"][1]) == ("wiki", "7")
        stranger, = eventually(lambda: prometheus.query('up{job="stranger"}'), "the other job has asked", 20)
        assert stranger["value"][1] == "0"
        assert all(one.get("x-forwarded-user") == "token:reader" for one in app.seen("/scraped/metrics"))
        assert READER not in str([one.fields for one in app.seen("/scraped/metrics")])


def test_opaque_tokens_are_described_by_the_issuer_once_and_not_for_long(gateway, issuer):
    issuer.active["opaque-1"] = {"active": True, "sub": "machine-7", "aud": [API, "https://x.example.com"], "iss": issuer.url}
    issuer.active["foreign"] = {"active": True, "sub": "machine-7", "aud": "https://x.example.com"}
    issuer.active["late"] = {"active": True, "sub": "machine-7", "aud": API, "exp": now() - 90}
    issuer.active["text"] = {"active": "true", "sub": "machine-7", "aud": API}
    issuer.calls.clear()
    for _ in range(5):
        assert user(call(gateway, "/opaque/page", bearer("opaque-1"))) == "legacy:machine-7"
    forms = [entry for entry in issuer.calls if isinstance(entry, tuple)]
    assert forms[0][0]["token"] == ["opaque-1"] and len(forms) <= 3
    credentials = base64.b64decode(forms[0][1].split(" ")[1]).decode()
    assert credentials == "gate+way:client+secret%2B%2F%25" or credentials == "gate%20way:client%20secret%2B%2F%25"
    for wrong in ("foreign", "late", "text", "unknown"):
        assert call(gateway, "/opaque/page", bearer(wrong)).status == 401, wrong
    # The issuer revokes it: accepted for no longer than 'cache'.
    del issuer.active["opaque-1"]
    eventually(lambda: call(gateway, "/opaque/page", bearer("opaque-1")).status == 401, "the token is rejected", 5)


def test_beside_a_session_an_opaque_token_is_the_app_s_own(gateway, issuer, provider_server):
    cookie = signed_in(gateway, provider_server)
    issuer.active["known"] = {"active": True, "sub": "machine-7", "aud": API}
    for opaque in ("known", "never-seen"):
        for _ in range(2):
            fields = received(call(gateway, "/opaque/page", bearer(opaque), fields=[cookie]))
            assert (fields["x-forwarded-user"], fields["authorization"]) == ("mock:ada", bearer(opaque))
            # Known to the gateway now, which changes nothing.
            assert call(gateway, "/opaque/page", bearer(opaque)).status == (200 if opaque == "known" else 401)


def test_what_an_issuer_verified_under_another_configuration_is_forgotten(gateway, tmp_path, app):
    own = Issuer()
    own.active["slow"] = {"active": True, "sub": "m", "aud": API, "scope": "low"}
    own.wait = threading.Event()
    apps = {"opaque": {"upstream": app.address, "allow": "signed_in", "machines": {"issuers": ["legacy"]}}}
    other = Gateway(tmp_path, gateway.configuration["providers"], apps)
    entry = {**gateway.configuration["issuers"]["legacy"], "issuer": own.url, "cache": "1h",
             "introspection_endpoint": f"{own.url}/introspect"}
    other.configuration["issuers"] = {"legacy": entry}
    with other:
        first = threading.Thread(target=lambda: call(other, "/x", bearer("slow")))
        first.start()
        eventually(lambda: own.calls, "the issuer is asked")
        entry["require"] = {"scope": "high"}
        other.write()
        other.reload()
        # The start counts as one.
        eventually(lambda: other.metric('gatehouse_reloads_total{result="ok"}') >= 2, "the file is in force")
        own.wait.set()
        first.join()
        assert call(other, "/x", bearer("slow")).status == 401
    own.server.shutdown()


def test_an_issuer_that_is_down_lets_no_one_in(gateway, issuer, app):
    issuer.active["opaque-2"] = {"active": True, "sub": "machine-7", "aud": API}
    issuer.down = True
    before = len(app.requests)
    assert call(gateway, "/opaque/page", bearer("opaque-2")).status == 502
    assert len(app.requests) == before
    issuer.down = False
    eventually(lambda: call(gateway, "/opaque/page", bearer("opaque-2")).status == 200, "the issuer responds again", 5)


def test_a_post_waits_for_the_verification_with_its_body(gateway, issuer):
    body = b"x" * 300_000
    response = call(gateway, "/page", bearer(issuer.token(jti="post")), "POST", body=body)
    assert received(response) and response.json["length"] == len(body)


def test_the_access_log_names_the_user_of_a_token(gateway, issuer):
    call(gateway, "/logged-machine", bearer(issuer.token(sub="repo:acme/logged")))
    path = gateway.folder / "access.log"
    lines = lambda: path.read_text().split("\n")[:-1]
    eventually(lambda: any("/logged-machine" in line for line in lines()), "the line is written")
    line = next(json.loads(text) for text in lines() if "/logged-machine" in text)
    assert (line["user"], line["provider"], line["decision"]) == ("ci:repo:acme/logged", "ci", "allowed")


def test_a_removed_token_ends_with_the_reload(gateway, tmp_path, provider_server, app):
    apps = {"wiki": {"upstream": app.address, "allow": "signed_in", "machines": {"service_tokens": ["bot", "reader"]}}}
    other = Gateway(tmp_path, gateway.configuration["providers"], apps)
    other.configuration["service_tokens"] = {"bot": BOT_ENTRY, "reader": READER_ENTRY}
    with other:
        assert call(other, authorization=bearer(BOT)).status == 200
        del other.configuration["service_tokens"]["bot"]
        other.configuration["apps"]["wiki"]["machines"]["service_tokens"] = ["reader"]
        other.write()
        other.reload()
        eventually(lambda: call(other, authorization=bearer(BOT)).status == 401, "the token is not accepted")
        assert call(other, authorization=bearer(READER)).status == 200


def test_a_preflight_and_a_call_of_a_listed_origin_pass(gateway, issuer):
    preflight = [("Origin", SPA), ("Access-Control-Request-Method", "PUT"), ("Access-Control-Request-Headers", "authorization")]
    fields = received(call(gateway, "/api", method="OPTIONS", fields=preflight))
    assert "x-forwarded-user" not in fields and fields["origin"] == SPA
    foreign = [("Origin", FOREIGN), *preflight[1:]]
    assert call(gateway, "/api", method="OPTIONS", fields=foreign).status == 401
    assert call(gateway, "/api", method="OPTIONS", fields=preflight[:1]).status == 401
    assert call(gateway, "/strict/api", method="OPTIONS", fields=preflight).status == 401
    for path in ("/secret/x", "/SECRET/x", "/%73ecret/x"):
        assert call(gateway, path, method="OPTIONS", fields=preflight).status == 401, path
    more = [*preflight, ("X-HTTP-Method-Override", "DELETE"), ("Cookie", "a=b"), ("Authorization", "Bearer x")]
    fields = received(call(gateway, "/api", method="OPTIONS", fields=more))
    assert not {"x-http-method-override", "cookie", "authorization"} & set(fields)
    cross = [("Origin", SPA), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "cors")]
    assert user(call(gateway, "/api", bearer(issuer.token()), "PUT", cross)) == "ci:repo:acme/wiki"
    rejected = call(gateway, "/api", fields=cross)
    assert rejected.status == 401 and rejected.get("access-control-allow-origin") == SPA
    assert rejected.get("access-control-allow-credentials") == "true" and "Origin" in rejected.get("vary")
    foreign = call(gateway, "/api", fields=[("Origin", FOREIGN), *cross[1:]])
    assert foreign.get("access-control-allow-origin") is None


def test_a_websocket_with_a_token(gateway, app, issuer):
    def act(connection, asked):
        connection.send(agrees(asked))
        return False

    app.script("/ws", act)
    for authorization, status in ((bearer(issuer.token()), 101), (bearer(issuer.token(aud="x")), 401)):
        with Wire(gateway.port) as wire:
            wire.send(handshake("/ws", f"gate.localhost:{gateway.port}", {"Authorization": authorization}))
            assert int(wire.until(b"\r\n\r\n").split(b" ")[1]) == status


def test_a_websocket_ends_with_its_token(gateway, app, issuer):
    def act(connection, asked):
        connection.send(agrees(asked))
        connection.more()
        return False

    app.script("/ending", act)
    with Wire(gateway.port, timeout=20) as wire:
        authorization = bearer(issuer.token(exp=now() + 3))
        wire.send(handshake("/ending", f"gate.localhost:{gateway.port}", {"Authorization": authorization}))
        assert wire.until(b"\r\n\r\n").split(b" ")[1] == b"101"
        began = now()
        wire.rest()
        assert now() - began <= 8


def test_forward_auth_decides_the_same(gateway, issuer, tmp_path, app):
    apps = {"wiki": {"forward_auth": "enforce", "allow": "signed_in",
                     "machines": {"issuers": ["ci"], "service_tokens": ["bot"]}}}
    other = Gateway(tmp_path, gateway.configuration["providers"], apps,
                    gateway={"forward_auth": {"dialect": "nginx", "from": ["127.0.0.1"]}})
    other.configuration["issuers"] = {"ci": gateway.configuration["issuers"]["ci"]}
    other.configuration["service_tokens"] = {"bot": BOT_ENTRY}
    with other:
        def ask(authorization):
            fields = [("X-Original-URL", f"{other.origin}/page"), ("X-Original-Method", "GET")]
            return call(other, "/oauth2/auth", authorization, fields=fields)

        admitted = ask(bearer(issuer.token()))
        assert admitted.status == 200 and admitted.get("x-forwarded-user") == "ci:repo:acme/wiki"
        assert ask(bearer(BOT)).get("x-forwarded-user") == "token:bot"
        for wrong in (issuer.token(aud="x"), issuer.token(OTHER), READER, "opaque"):
            assert ask(bearer(wrong)).status == 401


BROKEN = {
    "a name of a provider": ({"issuers": {"mock": {"type": "jwt", "issuer": "https://x.example.com", "audience": "a"}}},
                             "'mock' is a provider"),
    "no audience": ({"issuers": {"ci": {"type": "jwt", "issuer": "https://x.example.com"}}}, "needs 'audience'"),
    "any repository": ({"issuers": {"ci": {"type": "github_actions", "audience": "a"}}}, "everyone with an account at https://token.actions"),
    "any project": (
        {"issuers": {"ci": {"type": "jwt", "issuer": "https://gitlab.com", "audience": "a", "require": {"ref": "main"}}}},
        "everyone with an account at https://gitlab.com"
    ),
    "no claim that limits": (
        {"issuers": {"ci": {"type": "introspection", "issuer": "https://x.example.com", "client_id": "a",
                            "client_secret": "${env:TEST_CLIENT_SECRET}", "require": {"active": "true"},
                            "introspection_endpoint": "https://x.example.com/i"}}}, "needs 'audience'"
    ),
    "a shared secret": (
        {"issuers": {"ci": {"type": "jwt", "issuer": "https://x.example.com", "audience": "a", "algorithms": ["HS256"]}}},
        "'HS256' needs a shared secret"
    ),
    "the token itself": ({"service_tokens": {"bot": {"hash": BOT}}}, "this is a token, not its hash"),
    "one hash twice": ({"service_tokens": {"a": BOT_ENTRY, "b": BOT_ENTRY}}, "has the hash of 'a'"),
}


@pytest.mark.parametrize("more, message", BROKEN.values(), ids=BROKEN)
def test_check_explains_what_is_wrong(gateway, tmp_path, more, message):
    path = tmp_path / "providers.yaml"
    path.write_text(json.dumps({**gateway.configuration, "issuers": {}, "service_tokens": {}, **more}, indent=1))
    result = run("check", "--config", path)
    assert result.returncode == 1 and message in result.stderr
    assert BOT not in result.stderr


def test_the_commands_make_and_list_tokens(gateway, tmp_path):
    result = run("tokens", "create", "ci-runner", "--expires", "30d", "--group", "ops")
    assert re.fullmatch(r"gth_[A-Za-z0-9_-]{43}\n", result.stdout)
    assert "hash: sha256:" in result.stderr and result.stdout.strip() not in result.stderr
    assert run("tokens", "create", "Bad Name").returncode == 2
    assert run("tokens", "create", "x", "--expires", "soon").returncode == 2
    listed = run("tokens", "list", "--config", gateway.path).stdout.splitlines()
    assert [re.split(r"\s{2,}", line.strip()) for line in listed][1:] == [
        ["bot", BOT_ENTRY["expires"], "deployers", "wiki, strict"], ["reader", READER_ENTRY["expires"], "-", "strict"],
        ["old", "expired", "-", "wiki"]
    ]
