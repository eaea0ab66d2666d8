#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks each rule that check.py holds the sources against, one at a time."""
import sys
import unittest

import check


def found(complaints):
    return [(complaint.line, complaint.text.split(";")[0]) for complaint in complaints]


class ImportTests(unittest.TestCase):
    def complaints(self, text, path="Sources/GateWire/A.swift", allowed=("GateCore", "NIOCore")):
        return found(check.import_complaints(check.Source(path, text), set(allowed), "GateWire"))

    def test_what_the_table_names_may_be_imported(self):
        text = "internal import GateCore\npackage import NIOCore\nprivate import struct Foundation.Date\n"
        self.assertEqual(self.complaints(text), [])

    def test_what_it_does_not_name_may_not(self):
        self.assertEqual(self.complaints("internal import GRDB\n"), [(1, "GateWire may not import GRDB")])

    def test_attributes_and_kinds_do_not_hide_an_import(self):
        text = "@preconcurrency internal import struct GRDB.Row\n"
        self.assertEqual(self.complaints(text), [(1, "GateWire may not import GRDB")])

    def test_an_import_in_sources_has_an_access_level(self):
        self.assertEqual(self.complaints("import GateCore\n"), [(1, "import GateCore has no access level")])

    def test_an_import_in_tests_needs_none(self):
        text = "import Testing\n@testable import GateCore\n"
        self.assertEqual(self.complaints(text, path="Tests/GateWireTests/A.swift"), [])

    def test_only_tests_import_testing(self):
        self.assertEqual(self.complaints("internal import Testing\n"), [(1, "GateWire may not import Testing")])

    def test_a_comment_or_a_string_imports_nothing(self):
        self.assertEqual(self.complaints('// import A\nlet a = """\n    import B\n    """\n/* import C\nimport D */\n'), [])


class DocumentationTests(unittest.TestCase):
    def complaints(self, text):
        return found(check.documentation_complaints(check.Source("Sources/GateCore/A.swift", text)))

    def test_a_package_declaration_needs_a_comment(self):
        for declaration in (
            "package struct A {}",
            "    package let a: Int",
            "package static func a() {}",
            "@concurrent package static func a() async {}",
            "package private(set) var a = 1",
            "package final class A {}",
            "package nonisolated func a() {}",
            "package init?(_ text: String) {}",
        ):
            with self.subTest(declaration):
                self.assertEqual(len(self.complaints(f"let b = 1\n{declaration}\n")), 1)
                self.assertEqual(self.complaints(f"/// What it is.\n{declaration}\n"), [])
                self.assertEqual(self.complaints(f"/// What it is.\n@discardableResult\n{declaration}\n"), [])

    def test_a_plain_comment_is_none(self):
        self.assertEqual(len(self.complaints("// What it is.\npackage struct A {}\n")), 1)

    def test_what_is_not_package_needs_none(self):
        self.assertEqual(self.complaints("struct A {\n    let a = 1\n}\npackage import B\n"), [])

    def test_cases_of_a_package_enum_need_one_and_cases_of_a_switch_do_not(self):
        text = (
            "/// A.\npackage enum A {\n    case one\n    /// Two.\n    case two\n\n    var a: Int {\n"
            "        switch self {\n        case .one: 1\n        case .two: 2\n        }\n    }\n}\n"
        )
        self.assertEqual(self.complaints(text), [(3, "of a package enum: case one has no documentation")])

    def test_requirements_of_a_package_protocol_need_one(self):
        text = "/// A.\npackage protocol A {\n    func one()\n    /// Two.\n    var two: Int { get }\n}\nfunc three() {}\n"
        self.assertEqual(self.complaints(text), [(3, "of a package protocol: func one has no documentation")])


class WordTests(unittest.TestCase):
    def complaints(self, text, path="Sources/GateCore/A.swift"):
        return found(check.word_complaints(check.Source(path, text)))

    def test_traps_are_not_allowed(self):
        for text, name in (
            ("let a = try! b()", "try!"),
            ("let a = b as! C", "as!"),
            ("let a = b!.c", "a forced unwrap"),
            ("let a = b[0]!", "a forced unwrap"),
            ("var a: Int!", "a forced unwrap"),
            ("fatalError()", "fatalError"),
            ("public struct A {}", "public"),
            ("open class A {}", "public"),
        ):
            with self.subTest(text):
                self.assertEqual(self.complaints(text), [(1, f"{name} is not allowed")])

    def test_what_only_looks_like_one_is(self):
        for text in ("if a != b, !c { return !d }", 'let a = "b!"', "// c!", "func `it stops!`() {}", "let open = a { open in b }"):
            with self.subTest(text):
                self.assertEqual(self.complaints(text), [])

    def test_unsafe_code_is_kept_to_the_listed_files(self):
        for text in (
            "unsafe a()",
            "@safe struct A {}",
            "final class A: @unchecked Sendable {}",
            "nonisolated(unsafe) var a = 1",
        ):
            with self.subTest(text):
                self.assertEqual(self.complaints(text), [(1, "unsafe code is kept to the listed files")])
                self.assertEqual(self.complaints(text, path=next(iter(check.UNSAFE))), [])

    def test_the_word_alone_is_not_unsafe_code(self):
        self.assertEqual(self.complaints('// unsafe\nlet a = "unsafe \\(b("unsafe")) unsafe"\nfunc `unsafe things`() {}'), [])


class RepositoryTests(unittest.TestCase):
    def test_marks_of_unfinished_work_are_not_allowed(self):
        for text in ("// TODO: more", "# FIXME", "// swift-format-ignore"):
            with self.subTest(text):
                self.assertEqual(len(list(check.text_complaints("Sources/A.swift", text))), 1)

    def test_the_licence_line_comes_first(self):
        line = f"// {check.SPDX}\n"
        for text, line_number in (("import A\n", 1), ("#!/bin/sh\nls\n", 2), ("", 1), (f"import A\n{line}", 1)):
            with self.subTest(text):
                self.assertEqual(found(check.licence_complaints("a", text)), [(line_number, "the licence line is missing")])
        for text in (line, f"#!/bin/sh\n{line}", f"// swift-tools-version: 6.2\n{line}"):
            with self.subTest(text):
                self.assertEqual(found(check.licence_complaints("a", text)), [])

    def test_the_table_tells_of_no_arrow_that_is_not_there(self):
        source = check.Source("Sources/A/A.swift", "internal import B\n")
        self.assertEqual(found(check.table_complaints({"A": {"B"}}, [source])), [])
        complaints = found(check.table_complaints({"A": {"B", "C"}}, [source]))
        self.assertEqual(complaints, [(1, "A may import C and does not")])

    def failures(self, text, path="Sources/A/A.swift"):
        rows = 'case .a:\n    Entry("openid.a", .b)\ncase .b:\n    Entry(\n        "no_dot",\n'
        return found(check.failure_complaints([check.Source(check.CATALOG, rows), check.Source(path, text)]))

    def test_z_05_only_the_catalogue_spells_a_code(self):
        text = 'a("openid.a", "x.y")\nb(.c, "no_dot")\n/// "openid.a"\nc(path: "openid.a")\n'
        self.assertEqual(self.failures(text), [(1, "openid.a is spelled here"), (2, "no_dot is spelled here")])
        self.assertEqual(self.failures('a("openid.a")', path="Tests/A/A.swift"), [])

    def test_the_code_of_a_failure_is_not_compared(self):
        for text in (
            'if error.code == "x" {}',
            "guard failure?.code != other else { return }",
            'case let code where code.hasPrefix("x."): 1',
            'failure.code.hasPrefix("x.")',
            "list.contains(error.code)",
            "a == error.code",
        ):
            for path in ("Sources/A/A.swift", "Tests/A/A.swift"):
                with self.subTest(text, path=path):
                    self.assertEqual(self.failures(text, path), [(1, "the code of a failure is compared as a string")])
        for text in ("catch where error.code == EINPROGRESS {}", "error.reason == .a", 'log(error.code, "==")', "status.code == 200"):
            with self.subTest(text):
                self.assertEqual(self.failures(text), [])

    def test_the_cases_of_the_catalogue_are_documented_by_their_entries(self):
        source = check.Source(check.CATALOG, "/// A.\npackage enum A {\n    case one\n}\n")
        self.assertEqual(found(check.documentation_complaints(source)), [])

    def test_a_listed_file_without_unsafe_code_is_reported(self):
        self.assertEqual(len(list(check.unsafe_list_complaints([]))), len(check.UNSAFE))


class BlankingTests(unittest.TestCase):
    def test_lines_stay_lines(self):
        text = 'a /* b\n /* c */ */ d "e\\"f" #"g"h"# """\n  i "j" \\("k" + "l") \n""" m\n'
        self.assertEqual(check.code_of(text).count("\n"), text.count("\n"))
        self.assertEqual(check.code_of(text).split(), ["a", "d", "m"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(["-q"] if "--quiet" in sys.argv else sys.argv[1:])])
