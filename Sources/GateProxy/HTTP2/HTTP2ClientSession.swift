// SPDX-License-Identifier: Apache-2.0

internal import CNGHTTP2
internal import GateNet
internal import NIOCore

/// The libnghttp2 session of one connection to an upstream; confined to its event loop.
///
/// The library calls back into the connection while it reads and writes. Requests may be submitted from there; only
/// ``receive(_:)`` and ``fill(_:upTo:)`` may not be nested.
@safe final class HTTP2ClientSession {
    /// What the peer is told when a stream or the connection ends.
    enum Code: UInt32 {
        case none = 0
        case protocolError = 1
        case refusedStream = 7
        case cancel = 8
        case enhanceYourCalm = 11
    }

    /// Bytes that a peer may send on one stream before we have taken them.
    static let streamWindow = 65_535
    /// And on all streams together.
    static let connectionWindow = 1 << 20

    private let raw: OpaquePointer
    private var vector = HeaderVector()

    /// A session that calls the connection, which lets go of it before it goes itself.
    init?(connection: HTTP2UpstreamConnection, headBytes: Int) {
        var made: OpaquePointer?
        let user = unsafe Unmanaged.passUnretained(connection).toOpaque()
        let status = unsafe nghttp2_session_client_new2(
            &made,
            HTTP2ClientCallbacks.table,
            user,
            HTTP2ClientSession.options
        )
        guard status == 0, let made = unsafe made else { return nil }
        unsafe self.raw = made
        let settings = [
            Self.setting(NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
            Self.setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, Self.streamWindow),
            Self.setting(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, headBytes),
        ]
        unsafe nghttp2_submit_settings(self.raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
        unsafe nghttp2_session_set_local_window_size(
            self.raw,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            0,
            Int32(Self.connectionWindow)
        )
    }

    deinit {
        unsafe nghttp2_session_del(self.raw)
    }

    private static func setting(_ id: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
        nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: UInt32(clamping: value))
    }

    /// Made once and only read afterwards.
    private static nonisolated(unsafe) let options: OpaquePointer? = {
        var made: OpaquePointer?
        guard unsafe nghttp2_option_new(&made) == 0 else { return nil }
        unsafe nghttp2_option_set_no_auto_window_update(made, 1)
        unsafe nghttp2_option_set_max_outbound_ack(made, 256)
        unsafe nghttp2_option_set_no_closed_streams(made, 1)
        return unsafe made
    }()
}

// MARK: Reading

extension HTTP2ClientSession {
    /// Reads frames; false when the peer broke the protocol beyond repair or flooded us.
    func receive(_ bytes: ByteBuffer) -> Bool {
        unsafe bytes.withUnsafeReadableBytes { raw in
            let start = unsafe raw.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe nghttp2_session_mem_recv(self.raw, start, raw.count) == raw.count
        }
    }

    /// Gives the window of the connection back for bytes that have come, so that one stream cannot stop the others.
    func consumeConnection(_ count: Int) {
        unsafe nghttp2_session_consume_connection(self.raw, count)
    }

    /// Gives the window of a stream back for bytes that its reader has taken.
    func consume(_ count: Int, of stream: Int32) {
        unsafe nghttp2_session_consume_stream(self.raw, stream, count)
    }

    /// Whether anything may still come or go.
    var isAlive: Bool {
        unsafe nghttp2_session_want_read(self.raw) != 0 || nghttp2_session_want_write(self.raw) != 0
    }

    /// Whether a request may be begun: no `GOAWAY`, and stream numbers left.
    var mayRequest: Bool { unsafe nghttp2_session_check_request_allowed(self.raw) != 0 }

    /// How many streams the peer lets us have at a time.
    var maxStreams: Int {
        Int(unsafe nghttp2_session_get_remote_settings(self.raw, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }
}

// MARK: Writing

extension HTTP2ClientSession {
    /// Collects frames until there are so many bytes.
    func fill(_ outbound: inout ByteBuffer, upTo limit: Int) {
        while outbound.readableBytes < limit {
            var start: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(self.raw, &start)
            guard count > 0 else { return }
            unsafe outbound.writeBytes(UnsafeRawBufferPointer(start: start, count: count))
        }
    }

    /// Begins a stream with the head of a request.
    ///
    /// - Returns: The stream's number; nil if it could not be begun.
    func submit(_ head: ByteBuffer, for stream: HTTP2UpstreamStream, isSecure: Bool, hasBody: Bool) -> Int32? {
        let user = unsafe Unmanaged.passUnretained(stream).toOpaque()
        let number = unsafe self.vector.withRequest(head, isSecure: isSecure) { fields, count in
            guard hasBody else { return unsafe nghttp2_submit_request(self.raw, nil, fields, count, nil, user) }
            var source = unsafe nghttp2_data_provider()
            unsafe source.source.ptr = user
            unsafe source.read_callback = HTTP2ClientCallbacks.readBody
            return unsafe nghttp2_submit_request(self.raw, nil, fields, count, &source, user)
        }
        return number > 0 ? number : nil
    }

    /// Asks for the body again, after there was none for a while.
    func resume(_ stream: Int32) {
        unsafe nghttp2_session_resume_data(self.raw, stream)
    }

    /// Ends one stream.
    func reset(_ stream: Int32, _ code: Code) {
        unsafe nghttp2_submit_rst_stream(self.raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
    }

    /// Ends everything with a `GOAWAY`.
    func terminate(_ code: Code) {
        unsafe nghttp2_session_terminate_session(self.raw, code.rawValue)
    }
}
