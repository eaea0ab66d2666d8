// SPDX-License-Identifier: Apache-2.0

internal import CNGHTTP2
internal import GateNet
internal import NIOCore

/// The libnghttp2 session of one connection to an upstream; confined to its event loop.
///
/// libnghttp2 calls back into the connection while it reads and writes. Requests may be submitted meanwhile; only
/// ``receive(_:)`` and ``fill(_:upTo:)`` must not be nested.
@safe final class HTTP2ClientSession {
    /// The flow-control window of a stream, in bytes.
    static let streamWindow = 65_535
    /// The flow-control window of the connection, in bytes.
    static let connectionWindow = 1 << 20

    private let handle: HTTP2SessionHandle
    private var vector = HeaderVector()

    /// A session for a connection, which releases it before it goes away.
    init?(connection: HTTP2UpstreamConnection, headBytes: Int) {
        let handle = unsafe HTTP2SessionHandle(
            clientWith: HTTP2ClientCallbacks.table,
            user: Unmanaged.passUnretained(connection).toOpaque(),
            settings: [
                HTTP2SessionHandle.setting(NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
                HTTP2SessionHandle.setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, Self.streamWindow),
                HTTP2SessionHandle.setting(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, headBytes),
            ],
            connectionWindow: Self.connectionWindow
        )
        guard let handle else { return nil }
        self.handle = handle
    }
}

// MARK: Reading

extension HTTP2ClientSession {
    /// Reads frames; false when the peer violated the protocol or flooded us.
    func receive(_ bytes: ByteBuffer) -> Bool {
        unsafe bytes.withUnsafeReadableBytes { raw in unsafe self.handle.receive(raw) == raw.count }
    }

    /// Updates the connection's window for received bytes, so that one stream cannot stop the others.
    func consumeConnection(_ count: Int) { self.handle.consumeConnection(count) }

    /// Updates a stream's window for bytes that were taken.
    func consume(_ count: Int, of stream: Int32) { self.handle.consumeStream(count, of: stream) }

    /// Whether frames may still be received or sent.
    var isAlive: Bool { self.handle.wantsRead || self.handle.wantsWrite }

    /// Whether a request may start: no `GOAWAY` was received, and stream numbers are left.
    var mayRequest: Bool { unsafe nghttp2_session_check_request_allowed(self.handle.raw) != 0 }

    /// How many concurrent streams the peer allows.
    var maxStreams: Int {
        Int(unsafe nghttp2_session_get_remote_settings(self.handle.raw, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }
}

// MARK: Writing

extension HTTP2ClientSession {
    /// Collects frames up to a number of bytes.
    func fill(_ outbound: inout ByteBuffer, upTo limit: Int) {
        while outbound.readableBytes < limit, let frames = unsafe self.handle.nextFrames() {
            unsafe outbound.writeBytes(frames)
        }
    }

    /// Submits the head of a request on a new stream.
    ///
    /// - Returns: The stream number; nil on failure.
    func submit(_ head: ByteBuffer, for stream: HTTP2UpstreamStream, isSecure: Bool, hasBody: Bool) -> Int32? {
        let user = unsafe Unmanaged.passUnretained(stream).toOpaque()
        let number = unsafe self.vector.withRequest(head, isSecure: isSecure) { fields, count in
            guard hasBody else { return unsafe nghttp2_submit_request(self.handle.raw, nil, fields, count, nil, user) }
            var source = unsafe nghttp2_data_provider()
            unsafe source.source.ptr = user
            unsafe source.read_callback = HTTP2ClientCallbacks.readBody
            return unsafe nghttp2_submit_request(self.handle.raw, nil, fields, count, &source, user)
        }
        return number > 0 ? number : nil
    }

    /// Resumes reading a body that had no bytes before.
    func resume(_ stream: Int32) { self.handle.resume(stream) }

    func reset(_ stream: Int32, _ code: HTTP2CloseCode) { self.handle.reset(stream, code) }

    /// Terminates the session with a `GOAWAY`.
    func terminate(_ code: HTTP2CloseCode) { self.handle.terminate(code) }
}

// MARK: Callbacks

/// The callbacks of libnghttp2, which pass events to the connection or the stream.
///
/// The pointers to both are not retained: a connection releases its session before it goes away, and keeps each stream
/// until libnghttp2 has closed it.
enum HTTP2ClientCallbacks {
    /// Created once, then only read.
    static nonisolated(unsafe) let table: OpaquePointer? = {
        var made: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&made) == 0 else { return nil }
        unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(made, frameBegun)
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(made, headBegun)
        unsafe nghttp2_session_callbacks_set_on_header_callback(made, fieldReceived)
        unsafe nghttp2_session_callbacks_set_on_invalid_header_callback(made, fieldRejected)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(made, frameReceived)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, bodyReceived)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(made, streamClosed)
        return unsafe made
    }()

    private static func connection(_ user: UnsafeMutableRawPointer?) -> HTTP2UpstreamConnection? {
        unsafe HTTP2CallbackArguments.object(user, as: HTTP2UpstreamConnection.self)
    }

    private static func stream(_ session: OpaquePointer?, _ id: Int32) -> HTTP2UpstreamStream? {
        unsafe HTTP2CallbackArguments.stream(session, id, as: HTTP2UpstreamStream.self)
    }

    /// Makes libnghttp2 stop when the connection is flooded.
    private static func verdict(_ connection: HTTP2UpstreamConnection) -> Int32 {
        connection.isFlooded ? NGHTTP2_ERR_CALLBACK_FAILURE.rawValue : 0
    }

    private static let frameBegun: nghttp2_on_begin_frame_callback = { _, header, user in
        guard let connection = unsafe connection(user), let header = unsafe header?.pointee else { return 0 }
        connection.frameBegun(HTTP2FrameType(header.type), length: header.length, endsStream: header.endsStream)
        return verdict(connection)
    }

    private static let headBegun: nghttp2_on_begin_headers_callback = { session, frame, user in
        guard let connection = unsafe connection(user), let header = unsafe HTTP2CallbackArguments.header(frame) else {
            return 0
        }
        unsafe connection.headBegun(stream(session, header.stream_id))
        return 0
    }

    private static let fieldReceived: nghttp2_on_header_callback = {
        _,
        _,
        name,
        nameLength,
        value,
        valueLength,
        _,
        user in
        guard let connection = unsafe connection(user) else { return 0 }
        let nameBytes = unsafe UnsafeBufferPointer(start: name, count: nameLength)
        let valueBytes = unsafe UnsafeBufferPointer(start: value, count: valueLength)
        unsafe connection.fieldReceived(nameBytes.span, valueBytes.span)
        return verdict(connection)
    }

    /// A field with invalid bytes makes its stream malformed; by default libnghttp2 would only drop the field.
    private static let fieldRejected: nghttp2_on_invalid_header_callback = { _, _, _, _, _, _, _, _ in
        NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }

    private static let frameReceived: nghttp2_on_frame_recv_callback = { session, frame, user in
        guard let connection = unsafe connection(user), let header = unsafe HTTP2CallbackArguments.header(frame) else {
            return 0
        }
        switch HTTP2FrameType(header.type) {
        case .headers:
            guard let stream = unsafe stream(session, header.stream_id) else { return 0 }
            connection.headReceived(stream, endsStream: header.endsStream)
        case .data where header.endsStream:
            unsafe stream(session, header.stream_id)?.responseEnded()
        case .goAway:
            connection.goingAway()
        case .settings where !header.isAcknowledgement:
            connection.settingsReceived()
        default:
            break
        }
        return 0
    }

    private static let bodyReceived: nghttp2_on_data_chunk_recv_callback = { session, _, id, start, count, user in
        guard let connection = unsafe connection(user), let start = unsafe start else { return 0 }
        connection.session?.consumeConnection(count)
        guard let stream = unsafe stream(session, id) else { return 0 }
        unsafe stream.received(ByteBuffer(bytes: UnsafeBufferPointer(start: start, count: count)))
        return 0
    }

    private static let streamClosed: nghttp2_on_stream_close_callback = { session, id, code, user in
        guard let connection = unsafe connection(user), let stream = unsafe stream(session, id) else { return 0 }
        connection.closed(stream, wasRefused: code == HTTP2CloseCode.refusedStream.rawValue)
        return 0
    }

    /// Copies the available bytes of a request's body into the next frame.
    static let readBody: nghttp2_data_source_read_callback = { _, _, buffer, length, flags, source, _ in
        guard let pointer = unsafe source?.pointee.ptr, let buffer = unsafe buffer else {
            return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
        }
        let stream = unsafe Unmanaged<HTTP2UpstreamStream>.fromOpaque(pointer).takeUnretainedValue()
        let part = stream.nextPart(upTo: length)
        let count = part.readableBytes
        if stream.isBodyDone {
            unsafe flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
        } else if count == 0 {
            return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        }
        unsafe part.withUnsafeReadableBytes { bytes in
            unsafe UnsafeMutableRawBufferPointer(start: buffer, count: length).copyMemory(from: bytes)
        }
        return count
    }
}
