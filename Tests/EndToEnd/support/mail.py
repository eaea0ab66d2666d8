# SPDX-License-Identifier: Apache-2.0
"""A mail server in a process of its own, and what it has received."""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

from .processes import eventually

SERVER = Path(__file__).parent / "mail_server.py"


class MailServer:
    """`mail_server.py` in a process, and what it has received."""
    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", SERVER, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.port = json.loads(self.process.stdout.readline())["port"]
        self.events = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def messages(self, address=None):
        received = [event for event in list(self.events) if event["event"] == "message"]
        return [one for one in received if address in (None, one["to_address"])]

    def message(self, address, number=0):
        """A message to an address, once it is there."""
        return eventually(lambda: self.messages(address)[number:number + 1], f"a message to {address}")[0]

    def close(self):
        self.process.terminate()
        self.process.wait(10)


def link(message):
    """The only link of a message."""
    return re.findall(r"https?://\S+", message["text"])[0]
