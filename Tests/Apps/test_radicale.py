# SPDX-License-Identifier: Apache-2.0
"""CalDAV and CardDAV: Radicale with the `caldav` library and its web interface."""

import re
from datetime import datetime, timezone

import caldav
import pytest

from harness.apps import radicale
from harness.clients import session as signed_in

EVENT = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//corpus//EN
BEGIN:VEVENT
UID:one@example.com
DTSTAMP:20260101T000000Z
DTSTART:20260102T100000Z
DTEND:20260102T110000Z
SUMMARY:Tea & cake
END:VEVENT
END:VCALENDAR
"""
START, END = (datetime(2026, month, 1, tzinfo=timezone.utc) for month in (1, 2))
CARD = "BEGIN:VCARD\nVERSION:3.0\nUID:ada\nFN:Ada Example\nN:Example;Ada;;;\nEND:VCARD\n"


@pytest.fixture(scope="module")
def app(started):
    return started(radicale)


def calendar_session(url, fields):
    """A calendar that is made, filled, searched, synchronized and deleted."""
    with caldav.DAVClient(f"{url}/", username="ada", password="x", headers=fields) as client:
        principal = client.principal()
        for old in principal.calendars():
            old.delete()
        calendar = principal.make_calendar(name="Plans: a/b", cal_id="plans")
        calendar.save_event(EVENT)
        calendar.save_event(EVENT.replace("one@", "two%2F@").replace("Tea", "Näh"))
        tasks = calendar.save_todo(summary="buy tea", uid="task")
        found = calendar.search(start=START, end=END, event=True)
        objects = calendar.objects_by_sync_token()
        names = sorted(str(one.icalendar_component["summary"]) for one in found)
        tasks.complete()
        changed = len(list(calendar.objects_by_sync_token(objects.sync_token)))
        listed = [str(one.name) for one in principal.calendars()]
        calendar.delete()
        return {"names": names, "changed": changed, "listed": listed}


def test_y_04_a_calendar_through_a_caldav_library(front):
    """PROPFIND, MKCALENDAR, REPORT and conditional PUT arrive; `Authorization` for Radicale does too."""
    seen = front.both(calendar_session)
    assert seen["names"] == ["Näh & cake", "Tea & cake"] and seen["listed"] == ["Plans: a/b"]


def contacts_session(url, fields):
    """An address book by plain requests: each status and body."""
    seen = []
    with signed_in(fields) as session:
        session.auth = ("ada", "x")

        def ask(method, path, body=None, **headers):
            response = session.request(
                method,
                url + path,
                data=body,
                headers={name.replace("_", "-"): value for name, value in headers.items()},
                allow_redirects=False,
            )
            text = re.sub(r'[0-9a-f]{32,}|\w{3}, \d\d \w{3} [^<]*GMT', "X", response.text)
            seen.append((method, path, response.status_code, response.headers.get("Location"), text))

        session.delete(f"{url}/ada/book/")
        ask("GET", "/.well-known/carddav")
        ask(
            "MKCOL", "/ada/book/", '<?xml version="1.0"?><mkcol xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:carddav">'
            "<set><prop><resourcetype><collection/><C:addressbook/></resourcetype></prop></set></mkcol>"
        )
        ask("PUT", "/ada/book/ada.vcf", CARD, Content_Type="text/vcard", If_None_Match="*")
        ask("PUT", "/ada/book/ada.vcf", CARD, Content_Type="text/vcard", If_None_Match="*")
        ask(
            "REPORT",
            "/ada/book/", '<?xml version="1.0"?><C:addressbook-query xmlns="DAV:" '
            'xmlns:C="urn:ietf:params:xml:ns:carddav"><prop><getetag/><C:address-data/></prop><C:filter/>'
            "</C:addressbook-query>",
            Depth="1"
        )
        ask("PROPFIND", "/ada/", Depth="1")
        ask("MOVE", "/ada/book/ada.vcf", Destination=f"{url}/ada/book/moved.vcf")
        ask("GET", "/.web/")
        ask("DELETE", "/ada/book/", If_Match='"wrong"')
    return seen


def test_y_04_an_address_book(front):
    """CardDAV: `If-None-Match: *`, REPORT, MOVE and a well-known redirect."""
    seen = front.both(contacts_session)
    assert [status for method, _, status, _, _ in seen if method == "PUT"] == [201, 412]
