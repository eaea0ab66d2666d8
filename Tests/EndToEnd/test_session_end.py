# SPDX-License-Identifier: Apache-2.0
"""A tunnel ends with the session that opened it, even if it is in use."""

import pytest


@pytest.mark.timeout(180)
def test_the_end_of_a_session_is_the_end_of_its_tunnel(brief_tunnel):
    """A minute is the shortest lifetime of a session that the file accepts."""
    error, seconds = brief_tunnel.end()
    assert error.rcvd.code == 1008 and 55 < seconds < 66, (error, seconds)


@pytest.mark.timeout(180)
def test_the_lifetime_of_an_app_ends_the_session_for_this_app_only(brief_app):
    """The tunnel ends, other apps go on, and one new sign-in leads back to where the user wanted to go."""
    error, seconds = brief_app.end()
    assert error.rcvd.code == 1008 and 55 < seconds < 66, (error, seconds)
    browser = brief_app.browser
    ticket = browser.ticket()
    assert browser.send("GET", "/long").status == 200
    assert browser.send("GET", "/brief/api", navigates=False).status == 401
    assert "/authorize?response_type=code" in browser.send("GET", "/brief/page?x=1").get("location")
    page = browser.visit("/brief/page?x=1")
    assert page.status == 200 and page.url == f"{brief_app.gateway.origin}/brief/page?x=1"
    assert browser.ticket() != ticket and browser.send("GET", "/long").status == 200
