# SPDX-License-Identifier: Apache-2.0
"""The bulk of the load: many connections of a few users, with wrk, each response checked."""

import json
import re

from load import Place
from processes import Overdue, Trouble, program, run

PAUSE = 10  # milliseconds between a response and the next request of a connection, on average

SCRIPT = """
local users, cookies, threads = {%s}, {%s}, {}
setup = function(thread)
  table.insert(threads, thread)
  thread:set("user", users[#threads])
  thread:set("cookie", cookies[#threads])
end
init = function(args)
  wrong, seen = 0, ""
  wrk.headers["Cookie"] = cookie
end
delay = function()
  return math.random(0, %d)
end
response = function(status, headers, body)
  if status ~= 200 or body ~= user then
    wrong = wrong + 1
    seen = status .. " " .. string.sub(body, 1, 60)
  end
end
done = function(summary, latency, requests)
  local e, wrong, seen = summary.errors, 0, ""
  for _, thread in ipairs(threads) do
    wrong = wrong + thread:get("wrong")
    seen = seen .. thread:get("seen")
  end
  io.write(string.format('\\nRESULT {"requests":%%d,"broken":%%d,"wrong":%%d}\\nSEEN %%s\\n', summary.requests,
    e.connect + e.read + e.write + e.timeout, wrong, seen))
end
"""


class Crowd:
    """Some users with many connections; wrk runs in slices, so that a failure is seen before the end."""

    def __init__(self, environment, accounts, rate):
        self.environment, self.accounts = environment, accounts
        self.slices, self.lost = 0, 0
        self.connections = max(len(accounts), int(rate * (PAUSE + 1) / 1000))

    def slice(self, tally, seconds):
        """This many seconds of load; a wrk that does not end proves nothing about the gateway."""
        self.slices += 1
        try:
            self.load(tally, seconds)
        except Overdue as error:
            self.lost += 1
            print(f"crowd: a slice is lost: {error}", flush=True)

    @property
    def findings(self):
        """Reported if more than one slice in twenty was lost."""
        too_many = self.lost * 20 > self.slices
        return [f"{self.lost} of {self.slices} slices of the crowd are lost"] if too_many else []

    def load(self, tally, seconds):
        users = ",".join(json.dumps(account.user) for account in self.accounts)
        cookies = ",".join(json.dumps(account.fields["Cookie"]) for account in self.accounts)
        script = self.environment.write("crowd.lua", SCRIPT % (users, cookies, 2 * PAUSE))
        amount = [f"-t{len(self.accounts)}", f"-c{self.connections}", f"-d{seconds}s", "--timeout", "20s"]
        address = Place(self.accounts[0].gateway.port, path="/who").url
        status, output = run([program("wrk"), *amount, "-s", script, address], seconds + 30, self.environment.clients)
        found = re.search(r"^RESULT (.*)$", output, re.M)
        if status or not found:
            raise Trouble(f"wrk failed:\n{output[-1500:]}")
        result = json.loads(found[1])
        tally.add("crowd", result["requests"])
        if failed := result["broken"] + result["wrong"]:
            seen = re.search(r"^SEEN (.*)$", output, re.M)
            tally.fail("crowd", f"{result} {seen[1] if seen else ''}", failed)
