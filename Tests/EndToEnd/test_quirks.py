# SPDX-License-Identifier: Apache-2.0
"""Each quirk of the simulated providers in the demo: the resulting user, and the calls that were not made.

One row for one line of the list that `gatehouse demo --quirk list` prints. The expected values come from the providers'
documentation and the standards, as the comments of the simulators explain.
"""

import os
import re
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from support.browser import Browser
from support.demo import Demo, demo, requests_at
from support.processes import eventually

IN = (200, None)
TENANT = "8eae0000-2b34-4da1-9baa-8bc8c9d6a490"
FOREIGN = "0bad0000-5c11-4e0f-8d3a-1f2e3d4c5b6a"
CONSUMERS = "9188040d-6c67-4c5b-b112-36a304b66dad"
OBJECT = "00000000-1111-2222-3333-444455556666"
KEYS = "GET /oauth2/v3/certs"
GROUPS = "GET /v1/groups/-/memberships:search"


def rejected(status, code):
    return (status, code)


@dataclass
class Row:
    """One quirk: the accounts that sign in, and the results."""
    quirk: str
    provider: str = "google"
    account: str = "ada"
    outcomes: list = field(default_factory=lambda: [IN])
    profile: dict = field(default_factory=dict)
    counts: dict = field(default_factory=dict)
    seconds: float = 20
    # How many groups were found, where a session cannot hold all of them.
    found: int = 0

    def __str__(self):
        return f"{self.quirk}-{self.account}"


def bad_callback(quirk, status, code):
    """RFC 9207 §2.4 and RFC 6749 §3.1: the code of such a callback is not redeemed."""
    return Row(quirk, outcomes=[rejected(status, code)], counts={"POST /token": None})


def bad_token(quirk, rule):
    """OpenID Connect Core §3.1.3.7."""
    return Row(quirk, outcomes=[rejected(502, f"id_token.{rule}")], counts={"POST /token": 1})


GOOGLE = [
    Row("google-short-issuer", profile={"issuer": re.compile(r"https://localhost:\d+")}),
    Row("google-no-hd", profile={"tenant": None, "email_verified": True, "email_authoritative": False}),
    Row("google-hosted-domain", profile={"tenant": "example.org", "email_authoritative": True}),
    Row("google-hosted-domain", account="katherine", outcomes=[rejected(403, "provider.hosted_domain")]),
    Row("google-email-verified-text", profile={"email": "ada@example.org", "email_verified": True}),
    Row("google-email-verified-absent", profile={"email": "ada@example.org", "email_verified": False}),
    Row("google-no-callback-issuer", profile={"user": "google:104729384756102938475"}),
    Row("google-extra-parameters", profile={"user": "google:104729384756102938475"}),
    Row("google-offline", profile={"user": "google:104729384756102938475"}),
    Row("google-key-roll-over", outcomes=[IN, IN, IN], counts={KEYS: 2}),
    Row(
        "google-groups",
        profile={
            "groups": ["all@example.org", "engineering@example.org", "lunch@example.org"], "groups_complete": True
        },
        counts={GROUPS + "DirectGroups": 2, GROUPS + "TransitiveGroups": None},
    ),
    Row(
        "google-groups-transitive",
        profile={
            "groups":
                [
                    "all@example.org", "company@example.org", "engineering@example.org", "lunch@example.org",
                    "products@example.org",
                ], "groups_complete": True
        },
        counts={GROUPS + "TransitiveGroups": 3, GROUPS + "DirectGroups": None},
    ),
    Row(
        "google-groups-failing-page",
        profile={"groups": ["all@example.org", "engineering@example.org"], "groups_complete": False},
    ),
    # A consumer account has no groups, and Cloud Identity returns 403: nothing is known.
    Row("google-groups", account="katherine", profile={"groups": [], "groups_complete": False}),
]

TEAMS = ["example-org", "example-org/on-call", "example-org/platform-eng"]
MANY = 250 + 250

GITHUB = [
    Row("github-form-response", "github", profile={"user": "github:73205511", "email": "ada@example.org"}),
    Row("github-xml-response", "github", outcomes=[rejected(502, "openid.token_response")]),
    Row("github-error-with-200", "github", outcomes=[rejected(400, "openid.code_refused")]),
    Row("github-expiring-tokens", "github", profile={"user": "github:73205511"}),
    Row("github-no-callback-issuer", "github", profile={"user": "github:73205511"}),
    # The id is one that a double cannot hold, and the email address was never verified.
    Row("github-no-callback-issuer", "github", "grace", profile={"user": "github:9007199254740993"}),
    Row("github-no-callback-issuer", "github", "margaret", profile={"email": None, "email_verified": False}),
    Row(
        "github-wrong-host",
        "github",
        outcomes=[rejected(502, "provider.refused")],
        counts={"POST /login/oauth/access_token": None},
    ),
    Row(
        "github-api-redirects",
        "github",
        outcomes=[rejected(502, "provider.redirected")],
        counts={"GET /elsewhere": None},
    ),
    Row("github-app", "github", profile={"user": "github:73205511", "email": None, "email_verified": False}),
    Row("github-groups", "github", profile={"groups": TEAMS, "groups_complete": True}),
    Row(
        "github-three-pages",
        "github",
        found=MANY,
        counts={"GET /api/v3/user/orgs": 3, "GET /api/v3/user/teams": 3},
    ),
    Row("github-failing-page", "github", profile={"groups": 100 + 100, "groups_complete": False}),
    Row(
        "github-foreign-link",
        "github",
        profile={"groups": 100 + 100, "groups_complete": False},
        counts={"GET /api/v3/user/orgs": 1, "GET /api/v3/user/teams": 1},
    ),
    Row("github-sso-partial", "github", profile={"groups": TEAMS, "groups_complete": False}),
]

GRAPH = "POST /v1.0/me/getMemberObjects"
TRAP = f"POST /graph.windows.net/{TENANT}/users/{OBJECT}/getMemberObjects"

MICROSOFT = [
    Row(
        "microsoft-common",
        "microsoft",
        profile={
            "user": f"microsoft:{TENANT}:{OBJECT}", "tenant": TENANT,
            "issuer": re.compile(rf"https://localhost:\d+/{TENANT}/v2.0"), "email_verified": True
        },
    ),
    Row("microsoft-common", "microsoft", "katherine", profile={"tenant": CONSUMERS, "email_verified": True}),
    Row("microsoft-common", "microsoft", "grace", profile={"email": "grace@contoso.example", "email_verified": False}),
    # nOAuth: the administrator of a tenant has entered another user's email address.
    Row(
        "microsoft-common",
        "microsoft",
        "mallory",
        profile={"tenant": FOREIGN, "email": "ada@contoso.example", "email_verified": False},
    ),
    Row("microsoft-organizations", "microsoft", profile={"tenant": TENANT}),
    Row("microsoft-consumers", "microsoft", "katherine", profile={"tenant": CONSUMERS}),
    Row("microsoft-tenant-list", "microsoft", profile={"tenant": TENANT}),
    Row("microsoft-tenant-list", "microsoft", "katherine", outcomes=[rejected(403, "provider.tenant")]),
    Row("microsoft-tenant-list", "microsoft", "mallory", outcomes=[rejected(403, "provider.tenant")]),
    Row("microsoft-other-tenant", "microsoft", outcomes=[rejected(403, "provider.tenant")]),
    Row("microsoft-tenant-no-guid", "microsoft", outcomes=[rejected(502, "id_token.issuer")]),
    Row("microsoft-consumer-key", "microsoft", outcomes=[rejected(502, "id_token.key_issuer")]),
    # The third token is signed by a key that the second response no longer had.
    Row(
        "microsoft-alternating-keys",
        "microsoft",
        outcomes=[IN, IN, IN],
        counts={f"GET /{TENANT}/discovery/v2.0/keys": 2},
    ),
    Row("microsoft-text-expiry", "microsoft", profile={"tenant": TENANT}),
    Row("microsoft-no-mail", "microsoft", profile={"email": None, "username": "ada@contoso.example"}),
    # A guest's principal name is never shown and is not an email address.
    Row("microsoft-no-mail", "microsoft", "margaret", profile={"email": None, "username": None}),
    Row("microsoft-form-post", "microsoft", profile={"tenant": TENANT}),
    Row(
        "microsoft-groups",
        "microsoft",
        profile={
            "groups": ["1b2c3d4e-0000-4000-8000-001122334455", "1b2c3d4e-0000-4000-8000-aabbccddeeff"],
            "groups_complete": True, "roles": ["Gateway.Admin"]
        },
        counts={GRAPH: None},
    ),
    Row(
        "microsoft-overage",
        "microsoft",
        found=222,
        profile={"roles": ["Gateway.Admin"]},
        counts={GRAPH: 1, TRAP: None, TRAP.replace("POST", "GET"): None},
    ),
    Row(
        "microsoft-overage-unresolved",
        "microsoft",
        profile={"groups": [], "groups_complete": False},
        counts={GRAPH: 1, TRAP: None, TRAP.replace("POST", "GET"): None},
    ),
]

WRONG = [
    bad_callback("callback-wrong-issuer", 400, "openid.issuer_mismatch"),
    bad_callback("callback-two-issuers", 400, "openid.repeated_parameter"),
    bad_callback("callback-two-states", 400, "openid.attempt_lost"),
    bad_callback("callback-two-codes", 400, "openid.repeated_parameter"),
    bad_callback("callback-wrong-state", 400, "openid.attempt_lost"),
    bad_callback("callback-long-error", 403, "provider.denied"),
    bad_token("token-wrong-issuer", "issuer"),
    bad_token("token-wrong-audience", "audience"),
    bad_token("token-second-audience", "audience"),
    bad_token("token-wrong-party", "authorized_party"),
    bad_token("token-wrong-nonce", "nonce"),
    bad_token("token-no-nonce", "nonce"),
    bad_token("token-wrong-access-hash", "access_token_hash"),
    bad_token("token-no-subject", "subject"),
    bad_token("token-expired", "expired"),
    bad_token("token-not-yet-valid", "not_before"),
    bad_token("token-from-the-future", "issued_at"),
    bad_token("token-old", "issued_at"),
    bad_token("token-long-life", "lifetime"),
    bad_token("token-unsigned", "unsigned"),
    bad_token("token-signed-with-secret", "algorithm"),
    bad_token("token-signed-with-public-key", "algorithm"),
    bad_token("token-unknown-algorithm", "algorithm"),
    bad_token("token-bad-signature", "signature"),
    bad_token("token-critical-header", "critical_header"),
    # One fetch at the first sign-in and one for the first unknown key; no third within half a minute.
    Row("token-unknown-keys", outcomes=[rejected(502, "id_token.key_unknown")] * 4, counts={KEYS: 2}),
    Row("discovery-wrong-issuer", outcomes=[rejected(502, "openid.issuer_mismatch")]),
    Row("wrong-pin", outcomes=[rejected(503, "provider.pin_mismatch")]),
    Row("backup-pin"),
    Row("discovery-down", outcomes=[rejected(502, "provider.unavailable")]),
    Row("keys-too-large", outcomes=[rejected(502, "provider.answer_too_large")]),
    Row("keys-repeated-id"),
    Row("keys-for-encryption", outcomes=[rejected(502, "openid.key_set")]),
    Row("keys-down-later", outcomes=[IN, rejected(502, "id_token.key_unknown"), IN], counts={KEYS: 2}),
    Row("userinfo-other-subject", "gitlab", outcomes=[rejected(502, "openid.userinfo_subject")]),
    Row("token-endpoint-down", outcomes=[rejected(502, "provider.unavailable")], counts={"POST /token": 1}),
    Row("token-endpoint-slow", outcomes=[rejected(502, "provider.timeout")], counts={"POST /token": 1}, seconds=15),
    Row("token-endpoint-redirects", outcomes=[rejected(502, "provider.redirected")], counts={"POST /elsewhere": None}),
    Row("verifier-mismatch", outcomes=[rejected(400, "openid.code_refused")], counts={"POST /token": 1}),
    Row("verifier-mismatch", "github", outcomes=[rejected(400, "openid.code_refused")]),
    Row("verifier-mismatch", "microsoft", outcomes=[rejected(400, "openid.code_refused")]),
]

ROWS = GOOGLE + GITHUB + MICROSOFT + WRONG


def differences(profile, expected):
    """The fields that are not as expected: a value, a pattern, a number of groups, or None for absent."""
    found = {}
    for name, value in expected.items():
        actual = profile.get(name)
        if name in ("groups", "roles") and isinstance(value, int):
            fits = len(actual) == value
        elif isinstance(value, re.Pattern):
            fits = bool(value.fullmatch(actual or ""))
        else:
            fits = actual == value
        if not fits:
            found[name] = actual
    return found


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_gateway_knows_the_quirk(row, tmp_path):
    with Demo(tmp_path, "--provider", row.provider, "--quirk", row.quirk) as running:
        assert row.quirk in running.process.log
        for status, code in row.outcomes:
            began = time.monotonic()
            browser = running.sign_in(row.provider, row.account)
            assert time.monotonic() - began < row.seconds
            page = browser.page
            assert page.status == status, (page, page.text[-1500:], running.process.log)
            if code:
                assert f"<code>{code}</code>" in page.text, re.findall(r"<code>(.*?)</code>", page.text)
                assert browser.ticket() is None
            else:
                assert "Assertion verified" in page.text
                profile = browser.send("GET", "/oauth2/userinfo").json
                assert not differences(profile, row.profile), profile
                assert not row.found or len(profile["groups"]) + cut(running, row.provider) == row.found
        if row.counts:
            counts = requests_at(browser.pages)
            assert {name: counts.get(name) for name in row.counts} == row.counts, counts


def cut(running, provider):
    """How many groups were found and not kept, as the metric counts them."""
    with urllib.request.urlopen(f"http://127.0.0.1:{running.operations}/metrics", timeout=10) as response:
        text = response.read().decode()
    return int(re.search(rf'^gatehouse_groups_cut_total{{provider="{provider}"}} (\d+)', text, re.M)[1])


@pytest.mark.parametrize(
    "condition, status",
    [
        ("group: example-org", 200),
        ("group: example-org/platform-eng", 200),
        ("group: other-org", 403),
        ("group: example", 403),
        ("organization: example-org", 200),
        ("organization: other-org", 403),
    ],
)
def test_users_of_another_organization_are_denied(condition, status, tmp_path):
    """An organization or team of GitHub in `allow`."""
    with Demo(tmp_path, "--provider", "github", "--quirk", "github-groups") as running:
        file = re.search(r"/\S+/providers\.yaml", running.process.log)[0]
        with open(file) as text:
            before = text.read()
        before_it = reloads(running)
        # At once, as docs/running.md asks for: a file that is written in place is watched for seconds.
        with open(f"{file}.new", "w") as text:
            text.write(before.replace("allow: signed_in", f"allow: [{{ provider: github, {condition} }}]"))
        os.rename(f"{file}.new", file)
        eventually(lambda: reloads(running) > before_it, "the file is read again")
        page = running.sign_in("github", "ada").page
        assert page.status == status
        assert ("policy.refused" in page.text) == (status == 403)


def reloads(running):
    with urllib.request.urlopen(f"http://127.0.0.1:{running.operations}/metrics", timeout=10) as response:
        found = re.search(r'^gatehouse_reloads_total{result="ok"} (\d+)', response.read().decode(), re.M)
    return int(found[1]) if found else 0


def listed():
    """The quirks by provider, as the program lists them."""
    result = demo("--quirk", "list")
    assert result.returncode == 0 and not result.stderr
    quirks, provider = {}, None
    for line in result.stdout.splitlines():
        if re.fullmatch(r"\w+", line):
            provider = line
        elif re.fullmatch(r"  \S+", line):
            quirks.setdefault(provider, []).append(line.strip())
        elif line:
            assert line.startswith("      ") and line.endswith("."), line
    return quirks


def test_each_quirk_has_a_test():
    """Every quirk of the list has a row here."""
    quirks = listed()
    wanted = [name for provider in ("google", "github", "microsoft", "any") for name in quirks[provider]]
    assert len(wanted) == len(set(wanted))
    assert sorted({row.quirk for row in ROWS}) == sorted(wanted)


@pytest.mark.parametrize(
    "options, hint", [
        (["--quirk", "google-short-isuer"], "did you mean 'google-short-issuer'?"),
        (["--provider", "gogle"], "did you mean 'google'?"),
    ]
)
def test_a_mistyped_name_is_reported(options, hint):
    result = demo(*options)
    assert result.returncode == 2 and hint in result.stderr, result.stderr


def test_a_quirk_brings_its_provider_along(tmp_path):
    with Demo(tmp_path, "--provider", "google", "--quirk", "github-no-callback-issuer") as running:
        page = Browser(running).visit("/")
        assert [f"/oauth2/start/{name}" in page.text for name in ("google", "github", "microsoft")
               ] == [True, True, False]
        assert "Quirks that are on" in running.process.log


def test_a_denial_at_microsoft_leaves_no_line_end_in_the_log(tmp_path):
    """The description of the error has line ends, which must not become lines of the log."""
    with Demo(tmp_path, "--provider", "microsoft", "--verbose") as running:
        browser = running.sign_in("microsoft", "")
        assert browser.page.status == 403 and "<code>provider.denied</code>" in browser.page.text
        eventually(lambda: "AADSTS65004" in running.process.log, "the denial is logged")
        lines = [line for line in running.process.log.splitlines() if "AADSTS65004" in line]
        assert lines and all("provider.denied" in line for line in lines), running.process.log
        assert not any(line.startswith("Trace ID") for line in running.process.log.splitlines())


def test_many_first_sign_ins_fetch_each_document_once(tmp_path):
    """Simultaneous first sign-ins lead to one discovery and one key fetch."""
    with Demo(tmp_path, "--provider", "google") as running, ThreadPoolExecutor(40) as pool:
        browsers = list(pool.map(lambda _: running.sign_in("google", "ada"), range(40)))
        assert [browser.page.status for browser in browsers] == [200] * 40
        counts = requests_at(browsers[0].pages)
        assert counts["GET /.well-known/openid-configuration"] == 1 and counts[KEYS] == 1, counts
        assert counts["POST /token"] == 40


def test_the_same_email_address_at_two_providers_is_two_users(tmp_path):
    """An email address does not identify a user."""
    with Demo(tmp_path, "--provider", "google", "--provider", "github") as running:
        profiles = [
            running.sign_in(provider, "ada").send("GET", "/oauth2/userinfo").json for provider in ("google", "github")
        ]
        assert [profile["email"] for profile in profiles] == ["ada@example.org"] * 2
        assert [profile["user"] for profile in profiles] == ["google:104729384756102938475", "github:73205511"]


@pytest.mark.parametrize(
    "provider, quirk, path", [
        ("google", "google-offline", "POST /token"),
        ("github", "github-expiring-tokens", "POST /login/oauth/access_token"),
    ]
)
def test_a_refresh_token_that_comes_along_is_not_used(provider, quirk, path, tmp_path):
    """Rotating refresh tokens are never used."""
    with Demo(tmp_path, "--provider", provider, "--quirk", quirk) as running, ThreadPoolExecutor(20) as pool:
        browser = running.sign_in(provider, "ada")
        responses = list(pool.map(lambda _: browser.send("GET", "/again"), range(100)))
        assert [response.status for response in responses] == [200] * 100
        assert requests_at(browser.pages)[path] == 1
