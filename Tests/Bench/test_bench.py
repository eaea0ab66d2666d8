#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arithmetic and the verdicts of benchmark and soak, and that they leave no process behind."""

import base64
import contextlib
import hashlib
import io
import json
import os
import sqlite3
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import bench
import load
import measure
import processes
import report
import stored
from scenarios import rules
from scenarios.flat import fill
from servers import with_value
from signatures import SigningKey
from soaking.crowd import Crowd
from soaking.traffic import Tally
from soaking.watch import Watch


class Figures(unittest.TestCase):
    def test_a_ratio_is_the_median_of_the_rounds_ratios(self):
        # The second round was disturbed as a whole; the ratio of the medians would be 2.5.
        self.assertEqual(measure.ratio([2, 100, 5], [1, 50, 2]), 2)

    def test_every_target_is_measured_once_in_each_round_in_turns(self):
        order = []
        subjects = {name: lambda name=name: (order.append(name), (1, 1))[1] for name in "ab"}
        found = measure.rounds(subjects, 3)
        self.assertEqual("".join(order), "abbaab")
        self.assertEqual(found["a"].costs, [1, 1, 1])

    def test_a_target_is_missed_on_its_own_side_only(self):
        verdicts = [
            report.Row("a", "", figure=1.01, most=1.0).verdict,
            report.Row("a", "", figure=1.0, most=1.0).verdict,
            report.Row("a", "", figure=2.89, least=2.9).verdict,
            report.Row("a", "", figure=3, least=2.9).verdict,
            report.Row("a", "", figure=3).verdict,
            report.Row("a", "", most=1.0).verdict,
        ]
        self.assertEqual(verdicts, ["**missed**", "met", "**missed**", "met", "", "not measured"])

    def test_a_response_of_another_length_does_not_count(self):
        generator = load.Generator(Path("/"), [0])
        place = load.Place(1)
        with mock.patch.object(load, "response_of", return_value=mock.Mock(size=500)):
            self.assertTrue(generator.checked({"requests": 10, "bytes": 5100, "failed": 0}, place))
            for wrong in ({"requests": 10, "bytes": 9000, "failed": 0}, {"requests": 9, "bytes": 4500, "failed": 1}):
                with self.assertRaises(processes.Trouble):
                    generator.checked(wrong, place)


class Rules(unittest.TestCase):
    def test_a_difference_is_the_median_of_the_rounds_differences(self):
        # The second round was disturbed as a whole.
        self.assertAlmostEqual(rules.difference([3e-6, 900e-6, 5e-6], [1e-6, 500e-6, 4e-6]), 2)

    def test_each_app_has_ten_rules(self):
        found = rules.apps(1000)
        self.assertEqual(len(found), 1000)
        self.assertEqual({len(app["allow"]) + len(app["deny"]) for app in found.values()}, {10})


class Growth(unittest.TestCase):
    def findings(self, memory, files):
        watch = Watch(0, Tally(), None, 1)
        watch.samples = [[number, *values, 0, 0, 0] for number, values in enumerate(zip(memory, files, strict=True))]
        return watch.findings()

    def test_constant_values_do_not_count_as_growth(self):
        self.assertEqual(self.findings([10] * 4 + [100] * 12, [50] * 12 + [55] * 4), [])

    def test_memory_and_descriptors_that_grow_are_named(self):
        grown = self.findings([100] * 8 + [106] * 8, [50] * 12 + [56] * 4)
        self.assertEqual(grown, ["memory grew from 100 to 106 KiB", "descriptors grew from 50 to 56"])

    def test_a_few_samples_prove_nothing(self):
        self.assertEqual(len(self.findings([1] * 7, [1] * 7)), 1)


class Slices(unittest.TestCase):
    def test_one_of_twenty_may_be_lost(self):
        crowd = Crowd(None, [None], 1)
        with mock.patch.object(crowd, "load"), mock.patch("builtins.print"):
            for number in range(20):
                crowd.load.side_effect = processes.Overdue("") if number in (0, 19) else None
                crowd.slice(Tally(), 1)
                if number == 18:
                    self.assertEqual(crowd.findings, ["1 of 19 slices of the crowd are lost"])
        self.assertEqual(crowd.findings, ["2 of 20 slices of the crowd are lost"])
        crowd.lost = 1
        self.assertEqual(crowd.findings, [])


class Store(unittest.TestCase):
    def test_sessions_are_added_beside_the_real_one(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/sessions.db"
            with contextlib.closing(sqlite3.connect(path)) as database:
                database.execute("CREATE TABLE session (key BLOB NOT NULL PRIMARY KEY, sealed BLOB, seen INTEGER)")
                database.execute("CREATE INDEX session_seen ON session (seen)")
                database.execute("INSERT INTO session VALUES (x'0102030405060708', x'030405', 7)")
                database.commit()
            self.assertEqual(fill(path, 50), 50)
            with contextlib.closing(sqlite3.connect(path)) as database:
                rows = database.execute("SELECT * FROM session").fetchall()
                names = [name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'index'")]
        self.assertIn((b"\1\2\3\4\5\6\7\10", b"\3\4\5", 7), rows)
        self.assertEqual(len({row[0] for row in rows}), 50)
        self.assertEqual({(len(row[0]), len(row[1]), row[2]) for row in rows}, {(8, 3, 7)})
        self.assertIn("session_seen", names)


class Provider(unittest.TestCase):
    def test_tokens_are_signed_with_the_key_that_is_shown(self):
        def decoded(text):
            return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

        key = SigningKey()
        signed, _, signature = key.token({"sub": "ada"}).rpartition(".")
        modulus = int.from_bytes(decoded(key.jwk["n"]))
        plain = pow(int.from_bytes(decoded(signature)), 65537, modulus).to_bytes(256)
        # RFC 8017 §9.2: padding, the name of SHA-256, the hash.
        name = bytes.fromhex("3031300d060960864801650304020105000420")
        self.assertEqual(plain.partition(name)[2], hashlib.sha256(signed.encode()).digest())
        self.assertEqual(plain[:2], b"\0\1")


class Programs(unittest.TestCase):
    def test_all_that_was_started_is_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            children = processes.Children(Path(folder))
            # The second one does not want to.
            stubborn = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"]
            started = [children.start("one", ["sleep", "60"], [0]), children.start("two", stubborn, [0])]
            processes.eventually(lambda: "ready" in started[1].log, "it is ready")
            with mock.patch.object(processes.Child.stop, "__defaults__", (0.2, )):
                children.stop_all()
            self.assertTrue(all(not Path(f"/proc/{child.pid}").exists() for child in started))

    def test_a_program_that_takes_too_long_is_stopped(self):
        with self.assertRaisesRegex(processes.Overdue, "sleep; its threads: S "):
            processes.run(["sleep", "60"], 0.2)


class Machine(unittest.TestCase):
    def test_others_are_all_but_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            children = processes.Children(Path(folder))
            others = measure.Others()
            child = children.start("busy", ["sh", "-c", "while :; do :; done"], [0])
            processes.eventually(lambda: measure.cpu_seconds(child.pid) > 0.3, "it is busy")
            mine, all_of_them = others.share([child.pid]), others.share([])
            children.stop_all()
        # Whatever else runs here counts for both; on a busy machine the loop may get little of its processor.
        self.assertGreater((all_of_them - mine) * os.cpu_count(), 0.02)


class Options(unittest.TestCase):
    def refused(self, *arguments):
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as ended:
            bench.options_of(["--gateway", "/bin/true", *arguments])
        return ended.exception.code == 2

    def test_quick_keeps_explicit_options(self):
        options = bench.options_of(["--gateway", "/bin/true", "--quick", "--rounds", "7"])
        self.assertEqual((options.rounds, options.seconds), (7, bench.QUICK["seconds"]))

    def test_invalid_options_are_rejected(self):
        self.assertTrue(self.refused("--only", "h3"))
        self.assertTrue(self.refused("--only", "h1", "--write", "docs/performance.md"))

    def test_a_value_is_put_into_a_copy(self):
        before = {"a": {"b": 1}}
        self.assertEqual(with_value(before, ("a", "c"), 2), {"a": {"b": 1, "c": 2}})
        self.assertEqual(before, {"a": {"b": 1}})


class Documents(unittest.TestCase):
    def test_only_what_is_between_the_marks_is_replaced(self):
        rows = [report.Row("h1", "a|b", "1 µs", "2 µs", 0.5, "of nginx", most=1.0)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.md"
            path.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
            report.write(path, rows, {"command": "x"})
            text = path.read_text()
            self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text)
            self.assertIn("| h1 | a/b | 1 µs | 2 µs | 0.50 of nginx | ≤ 1 | met |", text)
            report.write_json(path, rows, {})
            self.assertFalse(json.loads(path.read_text())["rows"][0]["missed"])
            path.write_text("no marks")
            with self.assertRaises(processes.Trouble):
                report.write(path, rows, {})

    def test_the_page_names_every_scenario(self):
        text = (report.REPOSITORY / "docs/performance.md").read_text()
        self.assertEqual([name for name in bench.ALL if f"`{name}`" not in text], [])
        self.assertTrue(report.BEGIN in text and report.END in text)


class Stored(unittest.TestCase):
    def test_a_copy_of_a_session_is_consistent_and_another_one(self):
        first, second = bytes(range(32)), bytes(range(32, 64))
        hashes = {stored.base64url(first), stored.base64url(second)}
        commands = stored.encoded("SADD", b"f:" + stored.base64url(first), second) + stored.encoded(
            "HSET", b"s:" + stored.base64url(second), "f", first
        )
        copy = stored.with_other_hashes(commands, hashes)
        self.assertEqual(len(copy), len(commands))
        lines = copy.split(b"f:", 1)[1]
        family = base64.urlsafe_b64decode(lines[:43] + b"=")
        key = base64.urlsafe_b64decode(copy.split(b"s:", 1)[1][:43] + b"=")
        self.assertEqual(copy.count(family) + copy.count(stored.base64url(family)), 2)
        self.assertEqual(copy.count(key) + copy.count(stored.base64url(key)), 2)
        self.assertNotIn(first, copy)
        self.assertNotIn(second, copy)


if __name__ == "__main__":
    unittest.main()
