# SPDX-License-Identifier: Apache-2.0
"""`gatehouse simulate` as a program, and a user who signs in there."""

import html
import itertools
import json
import re
import subprocess
from urllib.parse import parse_qsl, urlsplit

import requests

from .gateway import PROGRAM
from .processes import Process, eventually


# Each process has its own log.
_numbers = itertools.count(1)


class Simulator:
    """A running simulator; `values` is its JSON."""
    def __init__(self, folder, type_, *options):
        command = [PROGRAM, "simulate", type_, "--json", "--folder", folder / "files", *options]
        self.process = Process(command, folder, f"simulate-{next(_numbers)}")
        line = eventually(lambda: re.search(r"^\{.*\}$", self.process.log, re.MULTILINE), "the values are printed")
        self.values = json.loads(line[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        code = self.process.stop()
        assert code == 0, self.process.log[-3000:]

    def get(self, url, **options):
        """A request that trusts the simulator's certificate authority only."""
        return requests.get(url, verify=self.values["ca_file"], timeout=10, **options)

    def sign_in(self, url, user):
        """Chooses a user on the sign-in page; returns the parameters of the callback."""
        page = requests.get(url, timeout=10)
        assert page.status_code == 200, page.text
        request = html.unescape(re.search(r'name="request" value="([^"]*)"', page.text)[1])
        action = urlsplit(url)._replace(query="").geturl()
        response = requests.post(
            action, data={"request": request, "user": user}, allow_redirects=False, timeout=10
        )
        assert response.status_code == 302, response.text
        location = response.headers["Location"]
        assert location.split("?")[0] == self.values["redirect_uri"]
        return dict(parse_qsl(urlsplit(location).query))


def simulate(*options, program=PROGRAM):
    """Runs the program to its end."""
    command = [str(program), "simulate", *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
