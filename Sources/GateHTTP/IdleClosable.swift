// SPDX-License-Identifier: Apache-2.0

package import GateNet
package import NIOCore

/// A client connection that can be ended between requests, to make room or to stop; confined to its event loop.
package protocol IdleClosable: Expiring {
    /// Whether it is open and no request is under way on it, though one may be arriving.
    var isIdle: Bool { get }
    /// Since when it waits for its client; nil while a request is in progress or bytes of a response wait for the client.
    var idleSince: NIODeadline? { get }
    /// Ends it if no request has been under way and nothing has come for so long.
    ///
    /// - Returns: Whether it was ended.
    func closeIfIdle(for time: TimeAmount) -> Bool
}

extension HTTP1Connection: IdleClosable {
    /// Whether it waits for its handshake, for a request or for the rest of a head.
    package var isIdle: Bool {
        switch self.phase {
        case .handshake, .idle, .head: true
        case .body, .answering, .tunnel, .lingering, .closed: false
        }
    }

    /// Since when it waits for its client.
    ///
    /// A head that has begun to arrive counts as a request in progress for a second; one that takes longer does not.
    package var idleSince: NIODeadline? {
        let limits = self.setting.limits
        switch self.phase {
        case .handshake: return self.created
        case .idle where !self.isSending: return self.served == 0 ? self.created : self.phaseDeadline - limits.idle
        case .head:
            let began = self.phaseDeadline - limits.requestHead
            return .now() - began >= .seconds(1) ? began : nil
        case .lingering where !self.isSending: return self.phaseDeadline - limits.linger
        case .idle, .body, .answering, .tunnel, .lingering, .closed: return nil
        }
    }

    /// Ends it if no request has been under way and nothing has come for so long; four times as long on a new connection,
    /// whose handshake and first request are on their way.
    @discardableResult
    package func closeIfIdle(for time: TimeAmount) -> Bool {
        guard .now() - self.arrived >= (self.served == 0 ? 4 * time : time) else { return false }
        switch self.phase {
        case .idle where !self.isSending: self.linger()
        case .handshake: self.context?.close(promise: nil)
        case .idle, .head, .body, .answering, .tunnel, .lingering, .closed: return false
        }
        return true
    }
}

extension HTTP2Connection: IdleClosable {
    /// Whether no stream is open and its end has not been announced.
    package var isIdle: Bool {
        if case .none = self.farewell { self.open.isEmpty && self.session != nil } else { false }
    }

    /// Since when no stream is open.
    ///
    /// Header blocks that have begun to arrive count as a request in progress for a second.
    package var idleSince: NIODeadline? {
        guard self.open.isEmpty, !self.isSending else { return nil }
        guard self.headDeadline == .distantFuture else {
            let began = self.headDeadline - self.setting.limits.requestHead
            return .now() - began >= .seconds(1) ? began : nil
        }
        let isWaiting = self.served > 0 && self.idleDeadline != .distantFuture
        return isWaiting ? self.idleDeadline - self.setting.limits.idle : self.created
    }

    /// Announces its end if no stream has been open and nothing has come for so long.
    @discardableResult
    package func closeIfIdle(for time: TimeAmount) -> Bool {
        guard self.isIdle, .now() - self.arrived >= time else { return false }
        self.announceEnd()
        return true
    }
}
