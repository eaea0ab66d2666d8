#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the manual pages: gatehouse(1) from the definitions of the command line, providers.yaml(5) from the JSON Schema.

    GATEHOUSE_PROGRAM=.build/debug/gatehouse deploy/build/manual.py gatehouse.1 > gatehouse.1
    GATEHOUSE_PROGRAM=.build/debug/gatehouse deploy/build/manual.py providers.yaml.5 > providers.yaml.5
"""

import json
import re
import sys
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


EXAMPLE = """\
gateway:
  public_url: https://gate.example.com
  state: /var/lib/gatehouse
  listeners:
    - address: 0.0.0.0:443
      tls: [{ certificate: cert.pem, private_key: key.pem }]
providers:
  google:
    type: google
    client_id: 1.apps.googleusercontent.com
    client_secret: ${file:/etc/gatehouse/secrets/google}
    hosted_domains: [example.com]
apps:
  wiki:
    host: wiki.example.com
    upstream: http://127.0.0.1:8080
    allow: [{ email_domain: example.com }]
"""
PURPOSE = """\
The configuration of gatehouse(1), in YAML. A key that is not known is an error. A change of the file is loaded while the gateway \
runs; one with errors is not, and the old configuration stays in force. 'gatehouse check' prints what is wrong, with line and column.

A value may be a reference: ${env:NAME} is the value of an environment variable, ${file:PATH} the content of a file. Durations are \
written as 30s, 5m, 8h or 7d, sizes as 64KiB or 10MiB."""


def escaped(text):
    """Text as roff shows it unchanged, in short lines."""
    return wrapped(text.replace("\\", "\\e").replace("-", "\\-"))


def marked(text):
    """The same for a line of Markdown: code becomes bold, a link its text."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("\\", "\\e").replace("-", "\\-")
    return wrapped(re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text))


def wrapped(text):
    """Short lines, none of which is a request of roff."""
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
    yield from (".SH SEE ALSO", "\\fBproviders.yaml\\fR(5), \\fBsystemd.socket\\fR(5)")


class Keys:
    """The keys of the configuration file, a section for each mapping."""
    def __init__(self, schema):
        self.schema, self.known = schema, {}

    def sections(self, schema, path):
        """The section of a mapping, then those of the mappings in it; a mapping that was described is referred to."""
        # `false` is a key that is not supported.
        keys = {name: value for name, value in schema["properties"].items() if value and not value.get("deprecated")}
        first = self.known.setdefault(json.dumps(keys, sort_keys=True), path)
        yield f".SS {escaped(path or 'The file')}"
        if first != path:
            yield f"As \\fB{escaped(first)}\\fR."
            return
        if "description" in schema:
            yield marked(schema["description"])
        for name, value in keys.items():
            yield from (".TP", f"\\fB{escaped(name)}\\fR", marked(self.text(value, name in schema.get("required", []))))
        for name, value in keys.items():
            yield from self.inner(value, f"{path}.{name}" if path else name)

    def inner(self, schema, path):
        """The sections of the mappings in a value."""
        for choice in [schema, *schema.get("anyOf", []), *schema.get("oneOf", [])]:
            if choice.get("$ref") == "#/$defs/entry":
                choice = self.schema["$defs"]["entry"]
            if "properties" in choice:
                yield from self.sections(choice, path)
            for value in choice.get("patternProperties", {}).values():
                yield from self.inner(value, f"{path}.<name>")
            if isinstance(choice.get("items"), dict):
                yield from self.inner(choice["items"], f"{path}[]")

    def text(self, value, is_required):
        """What is known about a key, as sentences of Markdown."""
        words = [word for choice in [value, *value.get("anyOf", [])] for word in choice.get("enum", [])]
        sentences = [value.get("description", "")]
        if words and not any(f"`{word}`" in sentences[0] for word in words):
            sentences.append(f"One of: {', '.join(f'`{word}`' for word in words)}.")
        if is_required:
            sentences.append("Required.")
        if "default" in value:
            sentences.append(f"The default is `{shown(value['default'])}`.")
        if value.get("examples"):
            sentences.append(f"Example: `{shown(value['examples'][0])}`.")
        return " ".join(filter(None, sentences))


def shown(value):
    """A value as it is written in YAML."""
    return value if isinstance(value, str) else json.dumps(value)


def file_page(release):
    schema = json.loads("\n".join(lines(release.program, "schema")))
    date = time.strftime("%Y-%m-%d", time.gmtime(release.epoch))
    yield f".TH PROVIDERS.YAML 5 {date} \"gatehouse {release.version}\""
    yield from (".SH NAME", "providers.yaml \\- configuration file of gatehouse")
    yield from (".SH SYNOPSIS", "\\fB/etc/gatehouse/providers.yaml\\fR")
    first, *others = PURPOSE.split("\n\n")
    yield from (".SH DESCRIPTION", escaped(first), *paragraphs("\n\n".join(others)))
    yield from (".SH EXAMPLE", ".nf", *(escaped_line(line) for line in EXAMPLE.splitlines()), ".fi")
    yield ".SH KEYS"
    yield from Keys(schema).sections(schema, "")
    yield from (".SH SEE ALSO", "\\fBgatehouse\\fR(1)")


def escaped_line(line):
    """One line of an example, its indentation included."""
    return line.replace("\\", "\\e").replace("-", "\\-")


PAGES = {"gatehouse.1": page, "providers.yaml.5": file_page}


if __name__ == "__main__":
    print("\n".join(PAGES[sys.argv[1]](Release.current())))
