// SPDX-License-Identifier: Apache-2.0

package import CNGHTTP2

/// The error codes that `RST_STREAM` and `GOAWAY` carry.
///
/// RFC 9113 §7.
package enum HTTP2CloseCode: UInt32, Sendable {
    /// A graceful end.
    case noError = 0
    /// The peer has violated the protocol.
    case protocolError = 1
    /// The gateway cannot complete the stream.
    case internalError = 2
    /// The request was not processed and may be retried.
    case refusedStream = 7
    /// The stream is no longer needed.
    case cancel = 8
    /// The peer causes too much work.
    case enhanceYourCalm = 11
}

/// Owns a libnghttp2 session, with the calls that clients and servers share; confined to its connection's event loop.
///
/// Flow control is manual: windows grow only by the `consume` functions.
@safe package struct HTTP2SessionHandle: ~Copyable {
    package let raw: OpaquePointer

    /// Opens the server side of a session and submits its settings.
    ///
    /// - Parameters:
    ///   - callbacks: The callbacks, which must outlive the session.
    ///   - user: What the callbacks get, not retained.
    ///   - settings: The settings.
    ///   - connectionWindow: The flow-control window of the connection.
    package init?(
        serverWith callbacks: OpaquePointer?,
        user: UnsafeMutableRawPointer,
        settings: [nghttp2_settings_entry],
        connectionWindow: Int
    ) {
        var made: OpaquePointer?
        let status = unsafe nghttp2_session_server_new2(&made, callbacks, user, HTTP2SessionHandle.options)
        guard status == 0, let made = unsafe made else { return nil }
        unsafe self.raw = made
        self.submit(settings, connectionWindow: connectionWindow)
    }

    /// Opens the client side of a session and submits its settings.
    ///
    /// - Parameters:
    ///   - callbacks: The callbacks, which must outlive the session.
    ///   - user: What the callbacks get, not retained.
    ///   - settings: The settings.
    ///   - connectionWindow: The flow-control window of the connection.
    package init?(
        clientWith callbacks: OpaquePointer?,
        user: UnsafeMutableRawPointer,
        settings: [nghttp2_settings_entry],
        connectionWindow: Int
    ) {
        var made: OpaquePointer?
        let status = unsafe nghttp2_session_client_new2(&made, callbacks, user, HTTP2SessionHandle.options)
        guard status == 0, let made = unsafe made else { return nil }
        unsafe self.raw = made
        self.submit(settings, connectionWindow: connectionWindow)
    }

    deinit {
        unsafe nghttp2_session_del(self.raw)
    }

    /// The version of libnghttp2 at run time.
    package static var libraryVersion: String {
        unsafe nghttp2_version(0).map { unsafe String(cString: $0.pointee.version_str) } ?? "unknown"
    }

    package static func setting(_ id: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
        nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: UInt32(clamping: value))
    }

    private func submit(_ settings: [nghttp2_settings_entry], connectionWindow: Int) {
        let none = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        unsafe nghttp2_submit_settings(self.raw, none, settings, settings.count)
        unsafe nghttp2_session_set_local_window_size(self.raw, none, 0, Int32(connectionWindow))
    }

    /// Created once, then only read.
    private static nonisolated(unsafe) let options: OpaquePointer? = {
        var made: OpaquePointer?
        guard unsafe nghttp2_option_new(&made) == 0 else { return nil }
        unsafe nghttp2_option_set_no_auto_window_update(made, 1)
        unsafe nghttp2_option_set_max_outbound_ack(made, 256)
        unsafe nghttp2_option_set_no_closed_streams(made, 1)
        // libnghttp2 counts resets of streams that have ended as well, which clients such as that of Go send under load: a thousand at
        // once and 33 in a second are too few. `FloodLimiter` counts those that end work.
        unsafe nghttp2_option_set_stream_reset_rate_limit(made, 4000, 1000)
        return unsafe made
    }()
}

// MARK: Reading

extension HTTP2SessionHandle {
    /// Reads frames.
    ///
    /// - Returns: The number of bytes read; less than 0 is an error of libnghttp2.
    package func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        unsafe nghttp2_session_mem_recv(self.raw, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    }

    /// Updates the windows of a stream and of the connection for bytes that were taken.
    package func consume(_ count: Int, of stream: Int32) {
        unsafe nghttp2_session_consume(self.raw, stream, count)
    }

    /// Updates the window of a stream for bytes that were taken.
    package func consumeStream(_ count: Int, of stream: Int32) {
        unsafe nghttp2_session_consume_stream(self.raw, stream, count)
    }

    /// Updates the window of the connection for bytes that were taken.
    package func consumeConnection(_ count: Int) {
        unsafe nghttp2_session_consume_connection(self.raw, count)
    }

    /// Whether received bytes still have a meaning.
    package var wantsRead: Bool { unsafe nghttp2_session_want_read(self.raw) != 0 }
}

// MARK: Writing

extension HTTP2SessionHandle {
    /// The next frames to send, valid until the next call; nil when there are no more.
    ///
    /// A callback may write to the output meanwhile, so that must not be in use.
    package func nextFrames() -> UnsafeRawBufferPointer? {
        var start: UnsafePointer<UInt8>?
        let count = unsafe nghttp2_session_mem_send(self.raw, &start)
        return count > 0 ? unsafe UnsafeRawBufferPointer(start: start, count: count) : nil
    }

    /// Whether there are frames to send, windows permitting.
    package var wantsWrite: Bool { unsafe nghttp2_session_want_write(self.raw) != 0 }

    /// Resumes reading a body that had no bytes before.
    package func resume(_ stream: Int32) {
        unsafe nghttp2_session_resume_data(self.raw, stream)
    }

    package func reset(_ stream: Int32, _ code: HTTP2CloseCode) {
        unsafe nghttp2_submit_rst_stream(self.raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
    }

    /// Terminates the session: input is ignored, and nothing is sent after `GOAWAY`.
    package func terminate(_ code: HTTP2CloseCode) {
        unsafe nghttp2_session_terminate_session(self.raw, code.rawValue)
    }
}
