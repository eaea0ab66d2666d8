#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks each rule of the scripts beside this file, one at a time."""
import sys
import tempfile
import unittest
from pathlib import Path

import check
import dead
import language
import sources
import structure


def found(findings):
    return [(finding.line, finding.text.split(";")[0]) for finding in findings]


class ImportTests(unittest.TestCase):
    def findings(self, text, path="Sources/GateWire/A.swift", allowed=("GateCore", "NIOCore")):
        return found(check.import_findings(check.Source(path, text), set(allowed), "GateWire"))

    def test_what_the_table_names_may_be_imported(self):
        text = "internal import GateCore\npackage import NIOCore\nprivate import struct Foundation.Date\n"
        self.assertEqual(self.findings(text), [])

    def test_what_it_does_not_name_may_not(self):
        self.assertEqual(self.findings("internal import GRDB\n"), [(1, "GateWire may not import GRDB")])

    def test_attributes_and_kinds_do_not_hide_an_import(self):
        text = "@preconcurrency internal import struct GRDB.Row\n"
        self.assertEqual(self.findings(text), [(1, "GateWire may not import GRDB")])

    def test_an_import_in_sources_has_an_access_level(self):
        self.assertEqual(self.findings("import GateCore\n"), [(1, "import GateCore has no access level")])

    def test_an_import_in_tests_needs_none(self):
        text = "import Testing\n@testable import GateCore\n"
        self.assertEqual(self.findings(text, path="Tests/GateWireTests/A.swift"), [])

    def test_only_tests_import_testing(self):
        self.assertEqual(self.findings("internal import Testing\n"), [(1, "GateWire may not import Testing")])

    def test_a_comment_or_a_string_imports_nothing(self):
        self.assertEqual(self.findings('// import A\nlet a = """\n    import B\n    """\n/* import C\nimport D */\n'), [])


class NumberTests(unittest.TestCase):
    def lines(self, text, path="Sources/GateSessions/A.swift"):
        return [finding.line for finding in check.number_findings(check.Source(path, text))]

    def test_b_05_durations_are_taken_apart_in_one_file(self):
        for code in ("let a = time.components.seconds", "let (a, b) = time.components"):
            self.assertEqual(self.lines(code), [1], code)
            self.assertEqual(self.lines(code, path=check.TIME), [])
        self.assertEqual(self.lines("let a = time.wholeSeconds\nlet componentsA = 1\n"), [])

    def test_b_05_floating_point_numbers_are_converted_in_one_way(self):
        for code in (
            "let a = Int(share * 100)",
            "let a = Int64(Date().timeIntervalSince1970)",
            "let a = Int64(Double(length) * 2)",
            "let a = UInt64(length * 1.5)",
            "let a = Int(ratio * 1e6)",
        ):
            self.assertEqual(self.lines(code), [1], code)
            self.assertEqual(self.lines(code.replace("nt(", "nt(saturating: ").replace("64(", "64(saturating: ")), [], code)
        for code in ("let a = Int(text)", "let a = Int64(self.shared.count)", "let a = Double(1.5)", "let a = Int(count[1])"):
            self.assertEqual(self.lines(code), [], code)

    def test_b_05_rows_are_read_without_subscripts(self):
        self.assertEqual(self.lines('let a: Int64 = row["a"]\n'), [1])
        self.assertEqual(self.lines('let a = try row.instant("a")\nlet b = rows[0]\n'), [])

    def test_b_05_a_number_that_was_read_is_bounded_before_it_is_used(self):
        for code in (
            "let a = (Int64(fields[1]) ?? 0) * size",
            "let a = 1 + (json.integer ?? 0) + 1",
            "let a = text.flatMap { Int64($0) }.map { $0 * 1024 }",
            "let a = (Int(text) ?? 1) - 1",
        ):
            self.assertEqual(self.lines(code), [1], code)
        for code in ("let a = Int64(text) ?? 0", "let a = json.integer ?? -1", "let a = text.flatMap { Int64($0) }"):
            self.assertEqual(self.lines(code), [], code)


class WordTests(unittest.TestCase):
    def findings(self, text, path="Sources/GateCore/A.swift"):
        return found(check.word_findings(check.Source(path, text)))

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
                self.assertEqual(self.findings(text), [(1, f"{name} is not allowed")])

    def test_what_only_looks_like_one_is(self):
        for text in ("if a != b, !c { return !d }", 'let a = "b!"', "// c!", "func `it stops!`() {}", "let open = a { open in b }"):
            with self.subTest(text):
                self.assertEqual(self.findings(text), [])

    def test_unsafe_code_is_kept_to_the_listed_files(self):
        for text in (
            "unsafe a()",
            "@safe struct A {}",
            "final class A: @unchecked Sendable {}",
            "nonisolated(unsafe) var a = 1",
        ):
            with self.subTest(text):
                self.assertEqual(self.findings(text), [(1, "unsafe code is kept to the listed files")])
                self.assertEqual(self.findings(text, path=next(iter(check.UNSAFE))), [])

    def test_the_word_alone_is_not_unsafe_code(self):
        self.assertEqual(self.findings('// unsafe\nlet a = "unsafe \\(b("unsafe")) unsafe"\nfunc `unsafe things`() {}'), [])


class RepositoryTests(unittest.TestCase):
    def test_marks_of_unfinished_work_are_not_allowed(self):
        for text in ("// TODO: more", "# FIXME", "// swift-format-ignore"):
            with self.subTest(text):
                self.assertEqual(len(list(check.text_findings("Sources/A.swift", text))), 1)

    def test_the_licence_line_comes_first(self):
        line = f"// {check.SPDX}\n"
        for text, line_number in (("import A\n", 1), ("#!/bin/sh\nls\n", 2), ("", 1), (f"import A\n{line}", 1)):
            with self.subTest(text):
                self.assertEqual(found(check.licence_findings("a", text)), [(line_number, "the licence line is missing")])
        for text in (line, f"#!/bin/sh\n{line}", f"// swift-tools-version: 6.2\n{line}"):
            with self.subTest(text):
                self.assertEqual(found(check.licence_findings("a", text)), [])

    def test_the_table_allows_no_import_that_is_not_used(self):
        source = check.Source("Sources/A/A.swift", "internal import B\n")
        self.assertEqual(found(check.table_findings({"A": {"B"}}, [source])), [])
        findings = found(check.table_findings({"A": {"B", "C"}}, [source]))
        self.assertEqual(findings, [(1, "A may import C and does not")])

    def test_no_module_imports_one_of_a_higher_layer(self):
        layers = {"A": "1-low", "B": "2-middle", "C": "3-high"}
        table = {"A": {"A2", "Crypto"}, "B": {"A", "Crypto"}, "C": {"A", "B"}}
        self.assertEqual(found(check.layer_findings(table, layers)), [])
        findings = found(check.layer_findings(table | {"A": {"B"}}, layers))
        self.assertEqual(findings, [(1, "A of 1-low imports B of the higher layer 2-middle")])

    def test_a_module_is_found_in_its_layer(self):
        for path, module in (
            ("Sources/4-adapters/M/F/A.swift", "M"), ("Sources/M/F/A.swift", "M"), ("Tests/MTests/F/A.swift", "MTests"),
        ):
            with self.subTest(path):
                self.assertEqual(sources.module_of(path), module)

    def catalogued(self, text, path="Sources/A/A.swift"):
        rows = 'Row(.a, "openid.a", .b),\nRow(\n    .b,\n    "no_dot",\n'
        return found(check.catalogue_findings([check.Source(f"{check.CATALOG}A.swift", rows), check.Source(path, text)]))

    def test_z_05_only_the_catalogue_spells_a_code(self):
        text = 'a("openid.a", "x.y")\nb(.c, "no_dot")\n/// "openid.a"\nc(path: "openid.a")\n'
        self.assertEqual(self.catalogued(text), [(1, "openid.a is spelled here"), (2, "no_dot is spelled here")])
        self.assertEqual(self.catalogued('a("openid.a")', path="Tests/A/A.swift"), [])

    def test_a_listed_file_without_unsafe_code_is_reported(self):
        self.assertEqual(len(list(check.unsafe_list_findings([]))), len(check.UNSAFE))


def repository(files):
    """A folder with these files, by path; it goes with the object that is returned."""
    folder = tempfile.TemporaryDirectory()
    for path, text in files.items():
        file = Path(folder.name) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


class StructureTests(unittest.TestCase):
    def figures(self, files):
        with repository({f"Sources/{path}": text for path, text in files.items()}) as root:
            found = structure.Structure(Path(root))
            return found, found.figures()

    def test_files_depend_on_each_other_through_types(self):
        found, figures = self.figures({"M/A.swift": "struct A { let b: B }", "M/B.swift": "enum B { func a() -> A? { nil } }"})
        self.assertEqual(figures["files in the largest cycle"], 2)
        self.assertEqual(found.types(), 2)

    def test_comments_strings_and_other_modules_are_no_dependency(self):
        _, figures = self.figures({
            "M/A.swift": '/// See B.\nstruct A { let b = "B" }', "M/B.swift": "struct B { let a: A }", "N/C.swift": "let b: B",
        })
        self.assertEqual(figures["files in the largest cycle"], 1)

    def test_an_interpolation_is_a_dependency(self):
        _, figures = self.figures({"M/A.swift": 'let a = "\\(B.b)"\nstruct A {}', "M/B.swift": "struct B { let a: A }"})
        self.assertEqual(figures["files in the largest cycle"], 2)

    def test_a_distinctive_member_of_an_extension_is_a_dependency(self):
        files = {
            "M/A.swift": "struct A { func a() { self.remote() } }",
            "M/A+Remote.swift": "extension A { func remote() {} }",
        }
        self.assertEqual(self.figures(files)[1]["files in the largest cycle"], 2)
        files["M/C.swift"] = "struct C { func remote() {} }"
        self.assertEqual(self.figures(files)[1]["files in the largest cycle"], 1)

    def test_folders_of_one_module_form_a_cycle_and_the_top_is_a_folder(self):
        files = {"M/A.swift": "struct A { let b: B }", "M/F/B.swift": "struct B { let c: C }", "M/G/C.swift": "struct C {}"}
        self.assertEqual(self.figures(files)[1]["cycles between folders"], 0)
        files["M/D.swift"] = "struct D {}"
        files["M/G/C.swift"] = "struct C { let d: D }"
        self.assertEqual(self.figures(files)[1]["cycles between folders"], 1)

    def test_the_demo_is_not_counted_into_the_types_of_the_product(self):
        found, _ = self.figures({"M/A.swift": "struct A { enum B {} }", "GateDemo/C.swift": "struct C {}"})
        self.assertEqual((found.types(), len(found.modules)), (2, 2))

    def test_comparing_the_code_of_a_failure_is_a_finding(self):
        for text in (
            'if failure.code == "a.b" {}', "if a != failure.code {}", 'failure?.code.hasPrefix("a.")', "set.contains(error.code)",
            'switch failure.code {\ncase "a.b": 1\ndefault: 2\n}', 'case .a(let code) where code == "a.b": 1',
        ):
            with self.subTest(text):
                self.assertEqual(structure.code_comparisons(sources.Source("A.swift", text)), [1])

    def test_other_codes_may_be_compared(self):
        for text in (
            "error.code == EPIPE", "head.status.code == 200", "switch error.code {\ncase EPIPE: 1\ndefault: 2\n}",
            '// failure.code == "a.b"', 'log("code == \\(failure.code)")', "failure == .expired",
        ):
            with self.subTest(text):
                self.assertEqual(structure.code_comparisons(sources.Source("A.swift", text)), [])


class DeadTests(unittest.TestCase):
    def dead(self, text):
        return [declaration.name for declaration in dead.dead_declarations([sources.Source("Sources/M/A.swift", text)])]

    def test_what_no_code_uses_is_dead(self):
        for text, name in (
            ("struct A {}", "A"),
            ("struct A { struct B {} }\nlet a = A()\nextension A.B {}\nprint(a)", "B"),
            ("func a() { a() }", "a"),
            ("func a(b: Int) {}\na(b: 1)\nfunc b() {}", "b"),
            ("enum A { case one, two(Int) }\nlet a = A.one\nprint(a)", "two"),
            ("struct A { let a: Int; init() { self.a = 1 } }\nprint(A())", "a"),
            ("struct A { static let a = 1 }\nprint(A(a: 1))", "a"),
            ("// a\nlet a = 1\nprint(\"a\")", "a"),
        ):
            with self.subTest(text):
                self.assertEqual(self.dead(text), [name])

    def test_what_only_dead_code_uses_is_dead(self):
        self.assertEqual(sorted(self.dead("func a() { b() }\nfunc b() {}")), ["a", "b"])

    def test_what_code_uses_is_not(self):
        for text in (
            "struct A {}\nlet a: A? = nil\nprint(a)",
            'let a = 1\nprint("\\(a)")',
            "struct A { let a: Int?; func b() { if let a { print(a) } } }\nprint(A().b)",
            "struct A { static func a() {}; let b = c(a) }\nprint(A().b)",
            "enum A: String { case one }\nprint(A.self)",
            "struct A: Codable { let a: Int }\nprint(A.self)",
            "struct A { let a: Int }\nprint(\\A.a)",
            "class A { override func a() {} }\nprint(A.self)",
            "@main struct A {}",
            "@main\nstruct A {}",
            "struct A { func channelRead() {} }\nprint(A.self)",
        ):
            with self.subTest(text):
                self.assertEqual(self.dead(text), [])

    def test_a_use_in_tests_does_not_count(self):
        with repository({"Sources/M/A.swift": "func a() {}", "Tests/MTests/A.swift": "a()"}) as root:
            self.assertEqual(found(dead.findings(Path(root))), [(1, "func a is not used in Sources")])


class LanguageTests(unittest.TestCase):
    def words(self, text, path="Sources/M/A.swift"):
        return [word for _, word in language.findings_in(path, text)]

    def test_a_replaced_word_is_found_in_names_comments_and_strings(self):
        for text, word in (
            ("func readAnswer() {}", "answer"),
            ("let answer = 1", "answer"),
            ("/// The answer.", "answer"),
            ('let a = "Answered."', "answered"),
            ("func `an answer is read`() {}", "answer"),
            ("/// Calls `readAnswer()`.", "answer"),
            ("struct SmallServer {}", "small server"),
            ("let mostStreams = 1", "most"),
            ("let site: Site", "site"),
            ("let connectionGate = 1", "gate"),
        ):
            with self.subTest(text):
                self.assertEqual(set(self.words(text)), {word})

    def test_a_phrase_may_go_over_lines(self):
        self.assertEqual(self.words("/// A call that is under\n/// way.\nlet a = 1"), ["under way"])
        self.assertEqual(self.words("the one is under\nway", path="docs/a.md"), ["under way"])
        self.assertEqual(self.words("/// A call that is under. Way.\n"), [])

    def test_words_that_are_right_in_a_sentence_are_only_wrong_in_swift_names(self):
        self.assertEqual(self.words("/// At most one block on the way to a site."), [])
        self.assertEqual(self.words("let a = headerBlock"), ["block"])
        self.assertEqual(self.words("block = 1", path="Tests/a.py"), [])

    def test_words_within_words_are_right(self):
        self.assertEqual(self.words("let defaultGateway = outstanding // warehouse, gatehouse, always"), [])

    def test_python_has_names_and_sentences(self):
        text = "def test_what_is_no_request():\n    most_lines = 1  # told\n    return 'an answer'\n"
        self.assertEqual(sorted(self.words(text, path="Tests/a.py")), ["answer", "is no", "most", "told"])

    def test_a_script_without_a_suffix_may_be_python(self):
        text = "while process.poll() is None:  # told\n    pass\n"
        self.assertEqual(self.words(f"#!/usr/bin/env python3\n{text}", path="Tests/run"), ["told"])
        self.assertEqual(sorted(self.words(f"#!/bin/sh\n{text}", path="Tests/run")), ["is none", "told"])

    def test_paths_are_names(self):
        self.assertEqual(self.words("", path="Sources/M/Standing.swift"), ["standing"])

    def test_exceptions_are_not_found(self):
        for text in ('"handover.spent"', "isCrossSiteWrite", "SameSite=Lax", "leastRequests", ".clearSiteData"):
            with self.subTest(text):
                self.assertEqual(self.words(f"let a = {text}"), [])
        self.assertEqual(self.words("renamed `readAnswer`", path="CHANGELOG.md"), [])

    def test_the_line_is_that_of_the_word(self):
        found_in = [finding.line for finding, _ in language.findings_in("docs/a.md", "one\ntwo whoever\n\nthe people\n")]
        self.assertEqual(found_in, [2, 4])


class CodeTests(unittest.TestCase):
    def test_interpolations_are_code_and_offsets_stay(self):
        text = 'a /* b\n /* c */ */ d "e\\"f" #"g"h"# """\n  i "j" \\(k("l")) \n""" #""""# m\n'
        code = sources.Source("A.swift", text).code_text
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.count("\n"), text.count("\n"))
        self.assertEqual(code.split(), ["a", "d", "(k(", "))", "m"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(["-q"] if "--quiet" in sys.argv else sys.argv[1:])])
