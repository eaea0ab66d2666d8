#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An SMTP server on a free port of 127.0.0.1 that prints what it receives as JSON lines.

    mail_server.py                                    plain text
    mail_server.py --cert C --key K                   STARTTLS, required before anything else
    mail_server.py --cert C --key K --implicit-tls    TLS from the first byte, as for smtps://
    mail_server.py --login user:password              requires AUTH
    mail_server.py --reject rcpt:451 --times 1        rejects the first RCPT TO, then accepts
    mail_server.py --silent data                      never replies to a message

The first line is {"event": "listening", "port": 12345}. Then follow:

- {"event": "command", "verb": "MAIL", "tls": true} for EHLO, MAIL, RCPT, NOOP and QUIT.
- {"event": "login", "username": "user", "accepted": true, "tls": true} for each AUTH.
- {"event": "message", ...} for each accepted message: `from` and `to` of the envelope, `tls`, `username` or null, `raw` in
  base64, and as Python's email package reads it: `headers`, `subject`, `from_name`, `from_address`, `to_address`, `text` and
  `defects`.

Needs aiosmtpd. Ends by SIGTERM, or when its input ends. Waits while its output is not read: after about 40 messages if that is
a pipe.
"""
import argparse
import asyncio
import base64
import email
import email.policy
import functools
import json
import signal
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword


def report(event, **values):
    print(json.dumps({"event": event, **values}), flush=True)


def defects_of(message):
    found = [type(defect).__name__ for part in message.walk() for defect in part.defects]
    headers = [(name, value) for part in message.walk() for name, value in part.items()]
    return found + [f"{name}: {type(defect).__name__}" for name, value in headers for defect in value.defects]


def read_message(raw):
    """What a client shows of a message."""
    message = email.message_from_bytes(raw, policy=email.policy.default)
    # The content first: a wrong encoding becomes a defect only when it is decoded.
    text = message.get_content().replace("\r\n", "\n")
    sender, recipient = (message[name].addresses[0] if message[name] else None for name in ("From", "To"))
    return {
        "headers": [[name, str(value)] for name, value in message.items()],
        "subject": str(message["Subject"]),
        "from_name": sender and sender.display_name,
        "from_address": sender and sender.addr_spec,
        "to_address": recipient and recipient.addr_spec,
        "text": text,
        "defects": defects_of(message),
    }


class Server:
    """Handles the commands of all connections; the names of its methods are those that aiosmtpd calls."""

    def __init__(self, options):
        self.silent = options.silent
        self.login = options.login and options.login.partition(":")[::2]
        self.rejects_at, self.rejection, self.times = None, None, options.times
        if options.reject:
            self.rejects_at, _, self.rejection = options.reject.partition(":")
        if self.rejection and " " not in self.rejection:
            self.rejection += " rejected by --reject"

    async def reply(self, name, accepted):
        """The rejection of a command if it is the one to reject; nothing at all if it is the silent one."""
        if self.silent == name:
            await asyncio.Event().wait()
        if self.rejects_at != name or self.times == 0:
            return accepted
        self.times -= 1
        return self.rejection

    async def note(self, verb, session, accepted):
        report("command", verb=verb, tls=session.ssl is not None)
        return await self.reply(verb.lower(), accepted)

    async def handle_EHLO(self, server, session, envelope, hostname, responses):
        session.host_name = hostname
        report("command", verb="EHLO", tls=session.ssl is not None, host=hostname)
        return responses

    async def handle_NOOP(self, server, session, envelope, argument):
        return await self.note("NOOP", session, "250 OK")

    async def handle_QUIT(self, server, session, envelope):
        return await self.note("QUIT", session, "221 Bye")

    async def handle_MAIL(self, server, session, envelope, address, options):
        reply = await self.note("MAIL", session, "250 OK")
        if reply.startswith("250"):
            envelope.mail_from = address
        return reply

    async def handle_RCPT(self, server, session, envelope, address, options):
        reply = await self.note("RCPT", session, "250 OK")
        if reply.startswith("250"):
            envelope.rcpt_tos.append(address)
        return reply

    async def handle_DATA(self, server, session, envelope):
        reply = await self.reply("data", "250 OK")
        if reply.startswith("250"):
            report(
                "message",
                **{"from": envelope.mail_from, "to": envelope.rcpt_tos, "tls": session.ssl is not None},
                username=session.auth_data,
                raw=base64.b64encode(envelope.content).decode(),
                **read_message(envelope.content),
            )
        return reply

    def authenticate(self, server, session, envelope, mechanism, login):
        """Accepts the one login."""
        is_right = isinstance(login, LoginPassword) and (login.login.decode(), login.password.decode()) == self.login
        username = login.login.decode(errors="replace") if isinstance(login, LoginPassword) else None
        report("login", username=username, accepted=is_right, tls=session.ssl is not None, mechanism=mechanism)
        if self.rejects_at == "auth" and self.times != 0:
            self.times -= 1
            return AuthResult(success=False, handled=False, message=self.rejection)
        return AuthResult(success=is_right, handled=False, auth_data=username)


class ImplicitSMTP(SMTP):
    """Over TLS from the first byte, of which the session of aiosmtpd has no sign."""

    def connection_made(self, transport):
        super().connection_made(transport)
        self.session.ssl = transport.get_extra_info("ssl_object")


def factory(options, server, context):
    kind = ImplicitSMTP if options.implicit_tls else SMTP
    return functools.partial(
        kind,
        server,
        hostname="mail.test",
        ident="test server",
        tls_context=None if options.implicit_tls else context,
        require_starttls=context is not None and not options.implicit_tls,
        authenticator=server.authenticate if server.login else None,
        auth_required=server.login is not None,
        # Without a login, plain text servers do not offer AUTH.
        auth_require_tls=not options.implicit_tls and (context is not None or server.login is None),
        auth_exclude_mechanism=options.no_mechanism,
        enable_SMTPUTF8=True,
    )


async def serve(options):
    context = None
    if options.cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)
    loop, tls = asyncio.get_running_loop(), context if options.implicit_tls else None
    # Waits for a handler that failed would hide the failure from the test.
    loop.set_exception_handler(lambda _, details: print(f"mail_server: {details}", file=sys.stderr, flush=True))
    if options.silent == "greeting":
        listening = await loop.create_server(asyncio.Protocol, "127.0.0.1", options.port)
    else:
        made = factory(options, Server(options), context)
        listening = await loop.create_server(made, "127.0.0.1", options.port, ssl=tls)
    stopped = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    loop.add_reader(sys.stdin, lambda: sys.stdin.buffer.read1() or stopped.set())
    report("listening", port=listening.sockets[0].getsockname()[1])
    await stopped.wait()


def main():
    parser = argparse.ArgumentParser(description="An SMTP server that prints what it receives as JSON lines.")
    parser.add_argument("--port", type=int, default=0, help="0, the default, for a free one")
    parser.add_argument("--cert", help="the certificate chain, PEM; with it TLS is required")
    parser.add_argument("--key", help="its private key, PEM")
    parser.add_argument("--implicit-tls", action="store_true", help="TLS from the first byte instead of STARTTLS")
    parser.add_argument("--login", metavar="USER:PASSWORD", help="the login that is required")
    parser.add_argument("--no-mechanism", action="append", metavar="NAME", help="do not offer an AUTH mechanism")
    parser.add_argument("--reject", metavar="AT:REPLY", help="mail, rcpt, data, noop or auth, and the reply, as rcpt:'550 5.1.1 unknown'")
    parser.add_argument("--times", type=int, default=-1, help="how often to reject before accepting; always without it")
    parser.add_argument("--silent", choices=["greeting", "mail", "rcpt", "data", "noop", "quit"], help="when not to reply")
    # What is still waiting for a silent command does not keep the process from ending.
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
