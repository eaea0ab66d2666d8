#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds words that the glossary of the project replaces, in names, comments, messages and documents.

    .ci/language.py              checks the repository this file is in; exits 1 if a word is found
    .ci/language.py --root DIR   checks another copy
    .ci/language.py --count      prints only how often each word and each file is found
    .ci/language.py --only PATH  keeps to files whose path starts with PATH

Needs Python 3.11, builds nothing. A name is split at its capitals and underscores, so that `readAnswer` and `read_answer`
have the word `answer`.
"""
import argparse
import io
import re
import sys
import tokenize
from bisect import bisect_right
from collections import Counter
from functools import cache
from pathlib import Path

from sources import Finding, blank, pieces_of, texts_of

# Not one of these words anywhere: in the parts of a name, in a path, in a comment, string or document.
EVERYWHERE = {
    r"answers?|answered|answering": "response, respond",
    r"persons?|visitors?": "user",
    r"whoever|whomever|somebody|nobody|anybody|everybody": "the user, the client, the operator, the app or the provider",
    r"refusals?|complaints?|obstacles?": "rejection (wire), denial (policy) or failure",
    r"problems?|faults?": "failure, error",
    r"anew": "again, or re-",
    r"tells?|telling|told": "report, return, log, send",
    r"says?|saying|said": "report, return, state, name",
    r"believes?|believed|believing": "trust, accept",
    r"workshops?": "RuntimeBuilder",
    r"trials?|rehears\w*": "test sign-in, preflight",
    r"examin\w*": "provider diagnostics, check",
    r"standings?": "route authorization",
    r"handovers?": "session transfer",
    r"turnstiles?": "limiter",
    r"switchboards?": "provider transport",
    r"farewells?": "GOAWAY, close, shutdown",
    r"stages?|rigs?": "fixture, test server, test client; level",
    r"houses?|rooms?|floors?": "module; space",
    r"doors?|pulses?": "the mechanism by its name",
    r"twins?": "the other one by its name",
    r"gave up|gives? up|giving up|given up": "cancel, close",
    r"abandon\w*|retire[ds]?|retiring": "close, drain, cancel, expire",
    r"flat lines?": "field lines",
    r"small (?:servers?|requests?|responses?|connections?)": "operations listener",
}

# Not one of these at the start of a name, or as a whole name.
IN_NAMES = {
    r"^(?:most|least|longest|shortest|fewest)\b(?= )": "max…, min…",
    r"^(?:give|take) back$": "release",
}

# Not one of these in the parts of a name of Swift code; elsewhere they may be right.
IN_SWIFT_NAMES = {
    r"sites?": "runtime configuration",
    r"ways?": "upstream, load balancer",
    r"blocks?": "head, field lines, HTTP/2 fields",
    r"cuts?|leaves?|leaving": "close, drain, cancel, end",
    r"(?<=\w )(?:gate|guard)$": "limiter",
}

# Not one of these in a sentence.
IN_PROSE = {
    r"people": "users",
    r"under way": "in progress, pending",
    r"of its own accord|of their own accord": "by itself, without being asked",
    r"own address(?:es)?": "endpoint",
    r"operations address(?:es)?": "operations listener",
    r"(?:header|head|field) blocks?": "head, field lines, HTTP/2 fields",
    r"stands?|stood": "is, applies, means",
    r"(?:is|are|was|were) none": "is not, does not exist",
    r"(?<!there )(?:is|are|was|were) no(?! (?:longer|more|less|better|worse|later)\b)": "is not",
    r"ends? tls": "terminates TLS",
    r"left to chance": "with jitter",
    r"(?:has|have|had) had": "has",
}

# What is right all the same: a text that is not looked at, where (the start of the path), and why.
EXCEPTIONS = [
    (r"`[^`\n]*`", "CHANGELOG.md", "names as they were released"),
    (r"(?i:(?:cross|same)[-_ ]?sites?)(?![a-z])|(?i:sec-?fetch-?site)|(?i:clear-?site-?data)", "", "the web's words"),
    (r"(?i)\bapplication/problem\+json\b", "", "the media type of RFC 9457"),
    (r"\bpeople\.googleapis\.com\b|\bPeople API\b|\burn:li:person\b", "", "the API of a provider"),
    (r"\bhandover\.[a-z_]+|\bopenid\.handover_too_long\b", "", "released failure codes"),
    (r"\"handover(?:/[a-z]+)?\"", "", "purposes of seals, hashes and single-use ids, which outlive an upgrade"),
    (r"(?:/oauth2|\{PREFIX\})/handover\b|\bgatehouse-handover\b|`handover`|\|handover\|", "", "a released endpoint and the name of a cookie"),
    (r"\bhandover\b", ".ci/check.py", "the start of released failure codes"),
    (r"\bprovider\.answer_(?:malformed|too_large)\b", "", "released failure codes"),
    (r"\b(?:session\.)?store_fault\b", "", "a released failure code and its key in /status"),
    (r"\bwire\.field_block\b", "", "a released failure code"),
    (r"(?<=\[)\"stage\"(?=\])|(?<=Member\()\"stage\"|\"(?:stage|fault)\"(?=: )|\bstage=|`(?:stage|fault)`", "", "keys of /status and of log lines"),
    (r"(?i)\beduPerson\w*", "", "the schema of attributes"),
    (r"\.problem(?:_mark|_offset)?\b", "Sources/5-configuration/GateYAML/", "fields of libyaml"),
    (r"\bCURLOPT_NOBODY\b", "Sources/0-c/CProviderTransport/", "an option of libcurl"),
    (r"\"nobody\"", "Tests/Apps/", "the Unix account"),
    (r"\bgatehouse_(?:overload_stage|session_store_fault)\b", "", "released metrics"),
    (r"(?i)\bleast[_ ]?(?:requests|connections|loaded)\b", "", "what nginx and Envoy call it"),
    (r"(?i)block_?size|EncodeBlock|DecodeBlock", "", "what ciphers and OpenSSL call it"),
    (r"(?i)\bDNS answers?\b", "", "what RFC 1035 calls it"),
    (r"\bgate:house\b", "Tests/", "a client id with a colon"),
    (r"\"answer\"", "Tests/EndToEnd/support/real.py", "a field in the form of a real provider"),
]

CHECKED_SUFFIXES = {
    ".swift", ".c", ".h", ".py", ".mjs", ".js", ".md", ".txt", ".yaml", ".yml", ".html", ".sh", ".conf", ".service", ".socket",
    ".ini", "",
}
CHECKED_FILES = {"docs/providers.schema.json"}
# The licence, the formatter and recorded bytes have words of their own, and these two files name what they forbid.
NOT_CHECKED = ("LICENSE", ".swift-format", ".ci/language.py", ".ci/test_check.py", "Tests/Fixtures/fuzz/")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WORD_OR_STOP = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[.,:;!?()\[\]{}=<>|]")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def rules(table):
    """One pattern for a table, and the advice by the number of the group that matched."""
    pattern = "|".join(f"(?P<r{number}>{alternatives})" for number, alternatives in enumerate(table))
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)"), list(table.values())


NAME_IN_PROSE, PROSE = rules(IN_NAMES), rules(EVERYWHERE | IN_PROSE)
SWIFT_NAME, OTHER_NAME = rules(EVERYWHERE | IN_NAMES | IN_SWIFT_NAMES), rules(EVERYWHERE | IN_NAMES)


def hits(text, ruleset):
    """The words of a text that a table replaces: offset, word and advice."""
    pattern, advice = ruleset
    for found in pattern.finditer(text):
        yield found.start(), found[0], advice[int(found.lastgroup[1:])]


@cache
def spaced(name):
    """The parts of a name, in lower case, with spaces between them."""
    return " ".join(part.lower() for part in PART.findall(name))


def prose_pieces(path, text):
    """The parts of a file that are comments, strings or plain text."""
    suffix = Path(path).suffix
    if suffix in (".swift", ".c", ".h", ".mjs", ".js"):
        return [(start, end) for start, end, _ in pieces_of(text)]
    if suffix != ".py" and not text.startswith("#!/usr/bin/env python3"):
        return [(0, len(text))]
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    try:
        return [
            (starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1])
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type in (tokenize.COMMENT, tokenize.STRING)
        ]
    except (tokenize.TokenError, SyntaxError):
        return [(0, len(text))]


def without_exceptions(path, text):
    for pattern, place, _ in EXCEPTIONS:
        if path.startswith(place):
            text = re.sub(pattern, lambda found: blank(found[0]), text)
    return text


def prose_hits(text, pieces):
    """The words that comments, strings and documents should not have, each with its offset; lines are joined."""
    words, offsets, length, before = [], [], 0, 0
    for start, end in pieces:
        if text[before:start].strip(" \n+"):
            words.append(".")
            offsets.append((length, start))
            length += 2
        before = end
        for found in WORD_OR_STOP.finditer(text, start, end):
            word = spaced(found[0]) if found[0][0].isalpha() or found[0][0] == "_" else "."
            words.append(word)
            offsets.append((length, found.start()))
            length += len(word) + 1
            if len(found[0]) > 1 and " " in word:
                yield from ((found.start(), word, advice) for _, word, advice in hits(word, NAME_IN_PROSE))
    for at, word, advice in hits(" ".join(words), PROSE):
        yield offsets[bisect_right(offsets, (at, len(text))) - 1][1], word, advice


def findings_in(path, text):
    """The findings of one file: in its path, in its names, in its prose."""
    in_names = SWIFT_NAME if path.endswith(".swift") else OTHER_NAME
    for part in Path(without_exceptions("", path)).parts:
        for _, word, advice in hits(spaced(part), in_names):
            yield Finding(path, 1, f"'{word}' in the path; write {advice}"), word
    pieces, text = prose_pieces(path, text), without_exceptions(path, text)
    line_starts = [0, *(found.end() for found in re.finditer("\n", text))]
    found_at = list(prose_hits(text, pieces))
    at = 0
    for start, end in [*pieces, (len(text), len(text))]:
        for name in NAME.finditer(text, at, start):
            # The name of a test in Python is a sentence.
            table = PROSE if name[0].startswith("test_") else in_names
            found_at += [(name.start(), word, advice) for _, word, advice in hits(spaced(name[0]), table)]
        at = end
    for offset, word, advice in found_at:
        yield Finding(path, bisect_right(line_starts, offset), f"'{word}'; write {advice}"), word


def all_findings(root, only=""):
    for path, text in texts_of(root).items():
        is_checked = Path(path).suffix in CHECKED_SUFFIXES or path in CHECKED_FILES
        if is_checked and not path.startswith(NOT_CHECKED) and path.startswith(only):
            yield from findings_in(path, text)


def findings(root):
    return (finding for finding, _ in all_findings(root))


def main():
    parser = argparse.ArgumentParser(description="Finds words that the glossary of the project replaces.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--only", default="", metavar="PATH", help="keep to files whose path starts with PATH")
    parser.add_argument("--count", action="store_true", help="print only how often each word and each file is found")
    options = parser.parse_args()
    found = list(all_findings(options.root.resolve(), options.only))
    if options.count:
        for counter in (Counter(finding.file for finding, _ in found), Counter(word for _, word in found)):
            for name, count in counter.most_common():
                print(f"{count:>6} {name}")
    else:
        for finding in sorted({finding for finding, _ in found}):
            print(finding)
    print(f"language: {len(found)} words in {len({finding.file for finding, _ in found})} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
