#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time limit of a command, and the names of the tests that hang."""
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

import time_limit

SCRIPT = Path(time_limit.__file__)


class TimeLimitTests(unittest.TestCase):
    def run_limited(self, seconds, command):
        arguments = [sys.executable, SCRIPT, str(seconds), "sh", "-c", command]
        return subprocess.run(arguments, capture_output=True, text=True, timeout=30)

    def test_the_exit_code_and_the_output_are_those_of_the_command(self):
        result = self.run_limited(20, "echo out; exit 3")
        self.assertEqual((result.returncode, result.stdout), (3, "out\n"))

    def test_a_command_that_hangs_is_ended_with_its_processes_and_the_test_is_named(self):
        result = self.run_limited(0.5, "echo '◇ Test `a rule` started.'; sleep 20 & sleep 20")
        self.assertEqual(result.returncode, time_limit.LIMIT_EXIT)
        self.assertIn("not finished: Test `a rule`", result.stderr)

    def test_a_process_in_a_group_of_its_own_is_ended_too(self):
        began = time.monotonic()
        result = self.run_limited(0.5, "bash -c 'set -m; sleep 20 & set +m; wait'; echo later")
        self.assertEqual((result.returncode, result.stdout), (time_limit.LIMIT_EXIT, ""))
        self.assertLess(time.monotonic() - began, 10)

    def test_what_the_command_leaves_when_the_limit_is_stopped_is_ended(self):
        arguments = [sys.executable, SCRIPT, "20", "bash", "-c", "set -m; sleep 21 & echo $!; wait"]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as limited:
            session = os.getsid(int(limited.stdout.readline()))
            self.assertEqual(len(list(time_limit.members(session))), 2)
            limited.terminate()
            limited.wait(10)
        self.assertEqual(list(time_limit.members(session)), [])

    def test_unfinished_tests_are_those_that_have_begun_only(self):
        lines = [
            "◇ Test run started.", "◇ Test one() started.", "◇ Test `two is two`() started.", "◇ Test three(a:) started.",
            "✔ Test one() passed after 0.1 seconds.", "✘ Test `two is two`() failed after 1.2 seconds with 1 issue.",
            "✔ Test three(a:) with 4 test cases passed after 0.2 seconds.", "◇ Test one() started.",
        ]
        self.assertEqual(time_limit.unfinished(lines), ["Test one()"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(["-q"] if "--quiet" in sys.argv else sys.argv[1:])])
