// SPDX-License-Identifier: Apache-2.0

internal import CNGHTTP2
internal import GateNet
internal import GateWire
internal import NIOCore

/// The libnghttp2 session of one client connection; confined to its event loop.
///
/// libnghttp2 calls back into the connection while it reads and writes, and queues what the connection submits
/// meanwhile. Only ``receive(_:)`` and ``fill(upTo:)`` must not be nested.
@safe final class HTTP2Session {
    // First, so that it is deleted before the streams that it refers to are released.
    private let handle: HTTP2SessionHandle
    /// Streams that were cancelled before libnghttp2 closed them; it refers to them until the session is gone.
    var detachedStreams: [HTTP2Stream] = []
    /// Frames that are not written to the channel yet.
    var outbound = ByteBuffer()
    /// The bytes being read, so that slices of them need no copy.
    private(set) var inbound = ByteBuffer()
    private var inboundStart: UnsafeRawPointer?
    private var vector = HeaderVector()

    /// A session for a connection, which must outlive it or release it first.
    init?(connection: HTTP2Connection, limits: DownstreamLimits, takesWebSockets: Bool) {
        var settings = [
            HTTP2SessionHandle.setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams),
            HTTP2SessionHandle.setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.streamWindow),
            HTTP2SessionHandle.setting(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.head.bytes),
            HTTP2SessionHandle.setting(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ]
        // RFC 8441 §3.
        if takesWebSockets {
            settings.append(HTTP2SessionHandle.setting(NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1))
        }
        let handle = unsafe HTTP2SessionHandle(
            serverWith: HTTP2Callbacks.table,
            user: Unmanaged.passUnretained(connection).toOpaque(),
            settings: settings,
            connectionWindow: limits.connectionWindow
        )
        guard let handle else { return nil }
        self.handle = handle
    }
}

// MARK: Reading

extension HTTP2Session {
    /// Reads frames; returns the error to send if the peer violated the protocol or flooded us.
    func receive(_ bytes: ByteBuffer) -> HTTP2CloseCode? {
        self.inbound = bytes
        let count = unsafe bytes.withUnsafeReadableBytes { raw in
            unsafe self.inboundStart = raw.baseAddress
            return unsafe self.handle.receive(raw)
        }
        unsafe self.inboundStart = nil
        self.inbound = ByteBuffer()
        guard count < 0 else { return nil }
        return count == Int(NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue) ? .protocolError : .enhanceYourCalm
    }

    /// The slice of the bytes being read that starts at an address, without a copy.
    func part(at address: UnsafePointer<UInt8>, count: Int) -> ByteBuffer {
        let offset = unsafe self.inboundStart.map { unsafe UnsafeRawPointer(address) - $0 } ?? -1
        if offset >= 0, let slice = self.inbound.getSlice(at: self.inbound.readerIndex + offset, length: count) {
            return slice
        }
        return unsafe ByteBuffer(bytes: UnsafeBufferPointer(start: address, count: count))
    }

    /// Updates the windows for bytes that were taken.
    func consume(_ count: Int, of stream: Int32) { self.handle.consume(count, of: stream) }

    /// Updates the connection's window for bytes of a closed stream.
    func consume(_ count: Int) { self.handle.consumeConnection(count) }

    /// Whether received bytes still have a meaning.
    var wantsRead: Bool { self.handle.wantsRead }
}

// MARK: Writing

extension HTTP2Session {
    /// Collects frames in ``outbound`` up to a number of bytes; false when there are no more.
    func fill(upTo limit: Int) -> Bool {
        while self.outbound.readableBytes < limit {
            guard let frames = unsafe self.handle.nextFrames() else { return false }
            unsafe self.outbound.writeBytes(frames)
        }
        return true
    }

    /// Whether there are frames to send, windows permitting.
    var wantsWrite: Bool { self.handle.wantsWrite }

    /// Attaches the object to its stream, and gives all streams equal priority.
    func open(_ stream: HTTP2Stream) {
        unsafe nghttp2_session_set_stream_user_data(
            self.handle.raw,
            stream.id,
            Unmanaged.passUnretained(stream).toOpaque()
        )
        var turns = nghttp2_extpri(urgency: UInt32(NGHTTP2_EXTPRI_DEFAULT_URGENCY), inc: 1)
        unsafe nghttp2_session_change_extpri_stream_priority(self.handle.raw, stream.id, &turns, 1)
    }

    /// Submits the head of a response; the body is read later.
    func submitResponse(_ head: ByteBuffer, on stream: HTTP2Stream, hasBody: Bool) -> Bool {
        unsafe self.vector.withResponse(head) { fields, count, _ in
            guard hasBody else {
                return unsafe nghttp2_submit_response(self.handle.raw, stream.id, fields, count, nil) == 0
            }
            var source = unsafe nghttp2_data_provider()
            unsafe source.source.ptr = Unmanaged.passUnretained(stream).toOpaque()
            unsafe source.read_callback = HTTP2Callbacks.readBody
            return unsafe nghttp2_submit_response(self.handle.raw, stream.id, fields, count, &source) == 0
        }
    }

    func submitInterim(_ head: ByteBuffer, on stream: Int32) {
        unsafe self.vector.withResponse(head) { fields, count, _ in
            _ = unsafe nghttp2_submit_headers(
                self.handle.raw,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                stream,
                nil,
                fields,
                count,
                nil
            )
        }
    }

    /// Submits a trailer section, which ends the stream.
    func submitTrailers(_ lines: ByteBuffer, on stream: Int32) {
        unsafe self.vector.withTrailers(lines) { fields, count in
            _ = unsafe nghttp2_submit_trailer(self.handle.raw, stream, fields, count)
        }
    }

    /// Resumes reading a body that had no bytes before.
    func resume(_ stream: Int32) { self.handle.resume(stream) }

    func reset(_ stream: Int32, _ code: HTTP2CloseCode) { self.handle.reset(stream, code) }

    /// Terminates the session: input is ignored, and nothing is sent after `GOAWAY`.
    func terminate(_ code: HTTP2CloseCode) { self.handle.terminate(code) }

    /// Submits the first `GOAWAY` of a graceful shutdown.
    ///
    /// RFC 9113 §6.8.
    func announceEnd() {
        unsafe nghttp2_submit_shutdown_notice(self.handle.raw)
    }

    /// Submits a `PING`, whose acknowledgement shows that the peer has received all earlier frames.
    func ping() {
        unsafe nghttp2_submit_ping(self.handle.raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Submits the final `GOAWAY` with the last stream.
    func submitLast() {
        unsafe nghttp2_submit_goaway(
            self.handle.raw,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            nghttp2_session_get_last_proc_stream_id(self.handle.raw),
            0,
            nil,
            0
        )
    }
}
