// SPDX-License-Identifier: Apache-2.0

extension FailureTable {
    static let sessionTransfer = FailureTable(
        .sessionTransfer,
        rows: [
            Row(.sessionTransferParameters, "handover.parameters", .malformedRequest, page: .transferNotCompleted),
            Row(.sessionTransferRequest, "handover.request", .malformedRequest, page: .transferNotCompleted),
            Row(.sessionTransferCode, "handover.code", .malformedRequest, page: .transferNotCompleted),
            Row(.sessionTransferSpent, "handover.spent", .malformedRequest, page: .transferNotCompleted),
            Row(.sessionTransferTooOften, "handover.too_often", .tooMany),
            Row(.sessionTransferWrongOrigin, "handover.wrong_origin", .malformedRequest, page: .transferNotCompleted),
            Row(.sessionTransferOtherBrowser, "handover.other_browser", .malformedRequest, page: .transferNotCompleted),
        ],
        documentation: [
            .sessionTransferParameters: "The URL has neither a request nor a code.",
            .sessionTransferRequest: """
            The request of the app's host is not from this gateway, is too old, or its host is no longer in \
            `providers.yaml`.
            """,
            .sessionTransferCode: "The code is not from this gateway, or it is older than 60 seconds.",
            .sessionTransferSpent: """
            The code was used before, or it came to the wrong browser or host before, which invalidates it.
            """,
            .sessionTransferTooOften: """
            One session requested more than 60 session transfers within a minute; usually a page opens others in a \
            loop.
            """,
            .sessionTransferWrongOrigin: "The code is for another host.",
            .sessionTransferOtherBrowser:
                "The code came with another browser than the one that requested it.",
        ]
    )
}
