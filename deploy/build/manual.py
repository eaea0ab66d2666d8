#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the manual page gatehouse(1) from the definitions of the command line.

    GATEHOUSE_PROGRAM=.build/debug/gatehouse deploy/build/manual.py > gatehouse.1
"""

import json
import textwrap
import time

from release import Release, lines

FILES = [
    ("/etc/gatehouse/providers.yaml", "The configuration, unless --config or $GATEHOUSE_CONFIG names another file."),
    ("/var/lib/gatehouse", "Session database, signing keys and the gateway's secret."),
    ("/usr/share/doc/gatehouse", "The documentation, examples and the JSON Schema of the configuration."),
]
EXIT_CODES = [
    ("0", "Done."),
    ("1", "The configuration, or what was checked, is wrong."),
    ("2", "Wrong usage."),
    ("70", "An internal error."),
]


def escaped(text):
    """Text as roff shows it unchanged, in short lines."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    short = textwrap.wrap(text, 79, break_long_words=False, break_on_hyphens=False)
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in short)


def paragraphs(text):
    """A longer text as roff: indented lines stay as they are."""
    for paragraph in filter(None, text.split("\n\n")):
        if paragraph.startswith(" "):
            yield from (".PP", ".nf", *(escaped(line) for line in paragraph.splitlines()), ".fi")
        else:
            yield from (".PP", escaped(paragraph))


def option_names(argument):
    """`-h, --help` or `--config <config>`, as roff."""
    dashes = {"long": "--", "short": "-", "longWithSingleDash": "-"}
    names = [dashes[name["kind"]] + name["name"] for name in argument.get("names", [])]
    text = ", ".join(f"\\fB{escaped(name)}\\fR" for name in names)
    if argument["kind"] == "flag":
        return text
    value = f"\\fI{escaped(argument['valueName'])}\\fR"
    return f"{text} {value}" if names else value


def options(command):
    """The options of one command, without the help that every command has."""
    for argument in command.get("arguments", []):
        if argument["shouldDisplay"] and argument["valueName"] not in ("help", "version"):
            text = argument.get("abstract", "")
            default = argument.get("defaultValue")
            if default and "default:" not in text:
                text += f" The default is {default}."
            yield ".TP"
            yield option_names(argument)
            yield escaped(text)


def sections(command, path):
    """A section for each command with options, the nested ones after the command that they belong to."""
    for nested in command.get("subcommands", []):
        name = [*path, nested["commandName"]]
        if not nested["shouldDisplay"] or nested["commandName"] == "help":
            continue
        yield f".SS {escaped(' '.join(name[1:]))}"
        yield escaped(nested["abstract"])
        yield from paragraphs(nested.get("discussion", ""))
        yield from options(nested)
        yield from sections(nested, name)


def table(rows):
    for name, text in rows:
        yield from (".TP", f"\\fB{escaped(name)}\\fR", escaped(text))


def page(release):
    root = json.loads("\n".join(lines(release.program, "--experimental-dump-help")))["command"]
    date = time.strftime("%Y-%m-%d", time.gmtime(release.epoch))
    yield f".TH GATEHOUSE 1 {date} \"gatehouse {release.version}\""
    yield from (".SH NAME", "gatehouse \\- reverse proxy that signs users in with their identity provider")
    yield from (".SH SYNOPSIS", "\\fBgatehouse\\fR \\fIcommand\\fR [\\fIoptions\\fR]")
    yield from (".SH DESCRIPTION", escaped(root["abstract"]))
    yield "\\fBgatehouse help\\fR \\fIcommand\\fR describes one command; \\fBgatehouse \\-\\-version\\fR prints versions."
    yield ".SH COMMANDS"
    yield from sections(root, [root["commandName"]])
    yield from (".SH FILES", *table(FILES))
    yield from (".SH EXIT STATUS", *table(EXIT_CODES))
    yield from (".SH SEE ALSO", "\\fBsystemd.socket\\fR(5)")


if __name__ == "__main__":
    print("\n".join(page(Release.current())))
