# SPDX-License-Identifier: Apache-2.0
"""pgAdmin with the user from the gateway."""

import re

import pytest
import requests

from harness.apps import pgadmin
from harness.clients import session as signed_in

HEADER = "WEBSERVER_REMOTE_USER = 'X-Forwarded-Email'"
FROM_HEADER = "WEBSERVER_REMOTE_USER_FROM_HEADER = True"
PROXIES = "WEBSERVER_TRUSTED_PROXIES = ['127.0.0.1']"


def user(url, session, **headers):
    """The user of pgAdmin's page; None without one."""
    session.get(f"{url}/", headers=headers, timeout=60)
    found = re.search(r"username: '([^']*)'", session.get(f"{url}/browser/js/utils.js", timeout=60).text)
    return found and found[1] or None


def test_n_10_pgadmin_takes_the_user_from_the_gateway(fronts, started):
    """It trusts the header of each client at this address: through the gateway it gets the user only."""
    app = started(pgadmin, HEADER, FROM_HEADER, PROXIES)
    forged = {"X-Forwarded-Email": "bob@example.com"}
    assert user(app.origin, requests.Session(), **forged) == "bob@example.com", "the control: it reads this header"
    front = fronts("pgadmin", app.port)
    for headers in ({}, forged):
        with signed_in(front.fields) as session:
            assert user(front.url, session, **headers) == "ada@example.com"
    assert requests.get(f"{front.url}/browser/", timeout=20).status_code == 401


@pytest.mark.parametrize("missing", [FROM_HEADER, PROXIES, HEADER])
def test_n_10_pgadmin_needs_each_of_its_settings(missing, fronts, started):
    app = started(pgadmin, *(line for line in (HEADER, FROM_HEADER, PROXIES) if line != missing))
    front = fronts("pgadmin-lacking", app.port)
    with signed_in(front.fields) as session:
        assert user(front.url, session) is None
