#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks each rule that attack_ids.py holds the tests against, one at a time."""
import sys
import unittest

import attack_ids

KEY = "| id | case |\n| --- | --- |\n| S-01 | x |\n| P-10 | y |\n| P-11 | z |\n"
USES = "def test_p_10_to_p_11_certificates(): ...\n"


class AttackIDTests(unittest.TestCase):
    def findings(self, text, key=KEY):
        return list(attack_ids.findings(key, {"a.py": text, "b.swift": "`S-01 a length`"}))

    def test_an_id_in_text_and_in_a_name_counts(self):
        self.assertEqual(self.findings(USES), [])
        self.assertEqual(self.findings('"""P-10, P-11: certificates."""'), [])

    def test_an_id_without_a_row_is_reported(self):
        self.assertEqual(len(self.findings(USES + "# S-02")), 1)
        self.assertEqual(len(self.findings(USES + "def test_s_02_codings(): ...")), 1)

    def test_a_row_without_a_test_is_reported(self):
        self.assertEqual(len(self.findings("# P-10")), 1)

    def test_a_row_that_is_there_twice_is_reported(self):
        self.assertEqual(len(self.findings(USES, KEY + "| S-01 | x |\n")), 2)

    def test_a_document_counts_as_no_test_and_names_only_known_ids(self):
        named = list(attack_ids.findings(KEY, {"a.py": USES}, {"d.md": "S-01, S-09"}))
        self.assertEqual([line.partition(" ")[0] for line in named], ["d.md:", "Tests/README.md:"])

    def test_other_words_do_not_count(self):
        self.assertEqual(self.findings(USES + "UTF-16 CVE-2026-12345 P-256 A-Z0 X-01-02 T-00.1"), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(["-q"] if "--quiet" in sys.argv else sys.argv[1:])])
