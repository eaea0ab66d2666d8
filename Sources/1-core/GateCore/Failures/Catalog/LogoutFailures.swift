// SPDX-License-Identifier: Apache-2.0

extension FailureTable {
    static let logout = FailureTable(
        .logout,
        rows: [
            Row(.logoutRequest, "logout.request", .malformedRequest),
            Row(.logoutToken, "logout.token", .malformedRequest),
            Row(.logoutReplayed, "logout.replayed", .malformedRequest),
            Row(.logoutUnverified, "logout.unverified", .overloaded),
            Row(.logoutTooOften, "logout.too_often", .tooMany),
            Row(.logoutBusy, "logout.busy", .overloaded),
        ],
        documentation: [
            .logoutRequest:
                "The body is not a form with exactly one `logout_token`, or is not a form at all.",
            .logoutToken: """
            The logout token is not valid: not signed by the provider, not for this client, too old, without a \
            logout event, with a `nonce`, without `jti`, or with neither `sub` nor `sid`. The log has the rule, \
            the received and the expected value.
            """,
            .logoutReplayed: "A logout token with this `jti` was accepted before; its sessions have ended.",
            .logoutUnverified: """
            The logout token cannot be verified now, so no session has ended: its key is unknown, or the \
            provider's metadata or keys cannot be fetched. The gateway fetches the keys for an unknown name at \
            most once in 30 seconds. The log has the code of the failure.
            """,
            .logoutTooOften: """
            One client IP posted more invalid logout tokens within a minute than \
            `limits.failed_sign_ins_per_minute` allows. Behind a proxy: is it in `trusted_proxies`?
            """,
            .logoutBusy: "100 logouts of this provider are in progress; usually its keys are slow to come.",
        ]
    )
}
