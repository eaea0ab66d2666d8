// SPDX-License-Identifier: Apache-2.0

extension FailureTable {
    static let gateway = FailureTable(
        .gateway,
        rows: [
            Row(.sessionStoreUnavailable, "session.store_unavailable", .overloaded),
            Row(.sessionConfirmationNeeded, "session.confirmation_needed", .signInRequired, page: .confirmationNeeded),
            Row(.sessionNotConfirmed, "session.not_confirmed", .overloaded),
            Row(.sessionStoreFull, "session.store_full", .overloaded, page: .operatorsNeeded),
            Row(.sessionStoreBusy, "session.store_busy", .overloaded),
            Row(.sessionStoreFileFailure, "session.store_fault", .internalError, shown: "log only"),
            Row(.sessionRevocationPending, "session.revocation_pending", .internalError, shown: "log only"),
            Row(.sessionStoreDamaged, "session.store_damaged", .overloaded, page: .operatorsNeeded),
            Row(.sessionStoreNewer, "session.store_newer", .overloaded, page: .operatorsNeeded),
            Row(.sessionNotSealed, "session.not_sealed", .internalError),
            Row(.sessionNotKept, "session.not_kept", .malformedRequest, page: .sessionsNotKept),
            Row(.assertionNotSigned, "assertion.not_signed", .internalError),
            Row(.identityTooLarge, "identity.too_large", .internalError),
            Row(.assertionNoKey, "assertion.no_key", .internalError, shown: "start"),
            Row(.assertionBadKeyFile, "assertion.bad_key_file", .internalError, shown: "start"),
            Row(.assertionTooManyKeys, "assertion.too_many_keys", .internalError, shown: "start"),
            Row(.fileUnusable, "file.unusable", .internalError, shown: "start"),
            Row(.fileTooOpen, "file.too_open", .internalError, shown: "start"),
            Row(.gatewayConfiguration, "gateway.configuration", .internalError, shown: "start"),
            Row(.gatewaySecret, "gateway.secret", .internalError, shown: "start"),
            Row(.gatewayTracing, "gateway.tracing", .internalError, shown: "start"),
            Row(.gatewayEventLoops, "gateway.event_loops", .internalError, shown: "start"),
            Row(.gatewayProcess, "gateway.process", .internalError, shown: "start"),
            Row(.listenerBind, "listener.bind", .internalError, shown: "start"),
            Row(.listenerOperations, "listener.operations", .internalError, shown: "start"),
            Row(.listenerNoSockets, "listener.no_sockets", .internalError, shown: "start"),
            Row(.listenerNoSocket, "listener.no_socket", .internalError, shown: "start"),
            Row(.listenerUnwantedSocket, "listener.unwanted_socket", .internalError, shown: "start"),
            Row(.listenerInherited, "listener.inherited", .internalError, shown: "start"),
            Row(.operationsSocket, "operations.socket", .internalError, shown: "start, log"),
            Row(.operationsUnreachable, "operations.unreachable", .internalError, shown: "commands"),
            Row(.operationsRejected, "operations.rejected", .internalError, shown: "commands"),
            Row(.certificateExpired, "certificate.expired", .internalError, shown: "log, `/status`, metric"),
            Row(.certificateNotYetValid, "certificate.not_yet_valid", .internalError, shown: "log, `/status`, metric"),
            Row(.certificateExpiring, "certificate.expiring", .internalError, shown: "log, `/status`, metric"),
            Row(.certificateWrongHost, "certificate.wrong_host", .internalError, shown: "log, `/status`, metric"),
            Row(.certificateWeak, "certificate.weak", .internalError, shown: "log, `/status`, metric"),
            Row(.certificateWrongPurpose, "certificate.wrong_purpose", .internalError, shown: "log, `/status`, metric"),
            Row(.revocationListExpired, "revocation_list.expired", .internalError, shown: "log, `/status`, metric"),
            Row(.revocationListExpiring, "revocation_list.expiring", .internalError, shown: "log, `/status`, metric"),
            Row(.tlsCertificateUnreadable, "tls.certificate_unreadable", .internalError, shown: "start"),
            Row(.tlsKeyUnreadable, "tls.key_unreadable", .internalError, shown: "start"),
            Row(.tlsKeyMismatch, "tls.key_mismatch", .internalError, shown: "start"),
            Row(.clientCertificateFiles, "client_certificate.files", .internalError, shown: "start"),
            Row(.transportNoResources, "transport.no_resources", .internalError, shown: "start"),
            Row(.transportUnsupportedLibrary, "transport.unsupported_library", .internalError, shown: "start"),
            Row(.profilePayload, "profile.payload", .malformedRequest, shown: "command"),
            Row(.policyQuestion, "policy.question", .malformedRequest, shown: "command"),
            Row(.policyLoss, "policy.loss", .internalError, shown: "reload"),
        ],
        documentation: [
            .sessionStoreUnavailable: "The session store does not respond, or is full.",
            .sessionConfirmationNeeded: """
            The session is due for a re-check, only a navigation over the provider can confirm it, and the request \
            is another one: of a script, which gets the URL of that navigation as `sign_in`, or a form. See \
            [sessions.md](sessions.md#re-checks).
            """,
            .sessionNotConfirmed: """
            The session is due for a re-check, and the provider has not responded for longer than \
            `sessions.max_stale`. The session is kept and continues when the provider responds again; see \
            [sessions.md](sessions.md#re-checks).
            """,
            .sessionStoreBusy: "A call of the session store waited two seconds for earlier calls.",
            .sessionStoreFileFailure: """
            The file of the session store was deleted, replaced, truncated or damaged while the gateway uses it, \
            or its Redis is a replica or removes sessions by itself; see \
            [running.md](running.md#the-session-store) and [sessions.md](sessions.md#redis).
            """,
            .sessionRevocationPending: """
            A sign-out is in effect, but is not written to the session store yet; see \
            [running.md](running.md#the-session-store).
            """,
            .sessionStoreDamaged:
                "The database, or a value in the store, is damaged, or was written by a later version of the gateway.",
            .sessionNotSealed: "A session could not be sealed.",
            .sessionNotKept: """
            With `sessions.store: cookie:` the gateway keeps no sessions, so it cannot list them or end those of \
            other browsers: sign-out everywhere, back-channel logout, `gatehouse sessions` and `gatehouse users`. \
            See [sessions.md](sessions.md#sessions-in-cookies).
            """,
            .assertionNotSigned:
                "The assertion for the app could not be signed; the request was not forwarded.",
            .identityTooLarge:
                "The identity headers of the user are longer than `identity.max_bytes` of the app; `groups: named` leaves groups out that the app has no rule for.",
            .assertionNoKey: "The folder of signing keys cannot be used.",
            .fileUnusable: "A file of the gateway cannot be read or written, or other users can read it.",
            .gatewayConfiguration: "The configuration has errors; they are printed above it.",
            .gatewaySecret: "The gateway's own secret in the `state` folder is too short.",
            .gatewayTracing: """
            A variable `OTEL_*` of the environment has a value that tracing does not support; the message names \
            both: [tracing.md](tracing.md).
            """,
            .gatewayEventLoops: """
            The process may not open the descriptors that its event loops need; raise `LimitNOFILE`.
            """,
            .gatewayProcess: """
            With `serve --listen-fds` the gateway runs as a child process of the one that systemd has started, \
            which could not be started: there is no descriptor, memory or process left.
            """,
            .listenerBind: """
            The gateway cannot listen on an address: it is in use, or the port is below 1024 and the process lacks \
            the capability.
            """,
            .listenerNoSockets: """
            `serve --listen-fds` was given, but no sockets were passed: `LISTEN_FDS` and `LISTEN_PID` are missing \
            or do not match.
            """,
            .listenerNoSocket: """
            A listener of the file has no socket among those that were passed, a socket has no listener in the \
            file, or a descriptor is not a socket; compare `ListenStream=` with `listeners` and `operations`.
            """,
            .operationsSocket: """
            The gateway cannot listen on the Unix socket of the operations API: another process listens there, the \
            path is not a socket, or the folder is not writable. Only a socket that `operations_socket` names \
            prevents the start.
            """,
            .operationsUnreachable: """
            A command cannot reach the running gateway through its Unix socket: the gateway is not running, \
            belongs to another user, or has another state folder; name the socket with `--socket`.
            """,
            .operationsRejected: "The running gateway rejected a command or could not carry it out.",
            .certificateExpired: """
            Clients reject a listener's own certificate, or soon will; see \
            [running.md](running.md#the-gateways-own-certificates).
            """,
            .revocationListExpired: """
            A revocation list of `crl_files` admits no certificate of its authority any more, or soon will not; \
            see [client-certificates.md](client-certificates.md#watching-revocation-lists).
            """,
            .tlsCertificateUnreadable: "A certificate or its key cannot be used.",
            .clientCertificateFiles:
                "A file of `client_certificates` cannot be used: an authority, or a revocation list.",
            .transportNoResources: """
            Provider calls cannot be set up; the second code names what the installed libcurl lacks.
            """,
            .profilePayload: """
            `gatehouse profile` got a file that is not a saved response of a provider; the message describes the \
            format.
            """,
            .policyQuestion: """
            `gatehouse policy` was asked about an app, a user or a path that does not exist, or got a file that is \
            not a profile.
            """,
            .policyLoss: """
            `serve --guard`: the new rules take access from too many users, or they could not be compared. See \
            [policy.md](policy.md#refuse-a-reload).
            """,
        ]
    )
}
