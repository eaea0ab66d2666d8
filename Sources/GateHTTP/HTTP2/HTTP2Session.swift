// SPDX-License-Identifier: Apache-2.0

internal import CNGHTTP2
internal import GateNet
internal import GateWire
internal import NIOCore

/// The libnghttp2 session of one connection; confined to its event loop.
///
/// The library calls back into the connection while it reads and writes. What the connection then asks for is put in a
/// queue by the library, so that both may call each other; only ``receive(_:)`` and ``fill(upTo:)`` may not be nested.
@safe final class HTTP2Session {
    /// What the peer must be told.
    struct Code {
        static let none = Code(raw: 0)
        static let protocolError = Code(raw: 1)
        static let internalError = Code(raw: 2)
        static let refusedStream = Code(raw: 7)
        static let cancel = Code(raw: 8)
        static let enhanceYourCalm = Code(raw: 11)

        let raw: UInt32
    }

    /// Streams that were given up before the library closed them; it points to them as long as it lives.
    var retired: [HTTP2Stream] = []
    /// Frames that have not been written to the channel yet.
    var outbound = ByteBuffer()
    /// The bytes being read, so that parts of them need no copy.
    private(set) var inbound = ByteBuffer()
    private var inboundStart: UnsafeRawPointer?
    private let raw: OpaquePointer
    private var vector = HeaderVector()

    /// A session that calls the connection, which must outlive it or let go of it first.
    init?(connection: HTTP2Connection, limits: DownstreamLimits, takesWebSockets: Bool) {
        var made: OpaquePointer?
        let user = unsafe Unmanaged.passUnretained(connection).toOpaque()
        let status = unsafe nghttp2_session_server_new2(
            &made,
            HTTP2Callbacks.table,
            user,
            HTTP2Session.options
        )
        guard status == 0, let made = unsafe made else { return nil }
        unsafe self.raw = made
        var settings = [
            Self.setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams),
            Self.setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.streamWindow),
            Self.setting(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.head.bytes),
            Self.setting(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ]
        // RFC 8441 §3.
        if takesWebSockets { settings.append(Self.setting(NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1)) }
        unsafe nghttp2_submit_settings(self.raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
        unsafe nghttp2_session_set_local_window_size(
            self.raw,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            0,
            Int32(limits.connectionWindow)
        )
    }

    deinit {
        unsafe nghttp2_session_del(self.raw)
    }

    private static func setting(_ id: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
        nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: UInt32(value))
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

extension HTTP2Session {
    /// Reads frames; answers what the peer is told if it broke the protocol beyond repair or flooded us.
    func receive(_ bytes: ByteBuffer) -> Code? {
        self.inbound = bytes
        let count = unsafe bytes.withUnsafeReadableBytes { raw in
            unsafe self.inboundStart = raw.baseAddress
            return unsafe nghttp2_session_mem_recv(
                self.raw,
                raw.baseAddress?.assumingMemoryBound(to: UInt8.self),
                raw.count
            )
        }
        unsafe self.inboundStart = nil
        self.inbound = ByteBuffer()
        guard count < 0 else { return nil }
        return count == Int(NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue) ? .protocolError : .enhanceYourCalm
    }

    /// The part of the bytes being read that starts at an address, without a copy.
    func part(at address: UnsafePointer<UInt8>, count: Int) -> ByteBuffer {
        let offset = unsafe self.inboundStart.map { unsafe UnsafeRawPointer(address) - $0 } ?? -1
        if offset >= 0, let slice = self.inbound.getSlice(at: self.inbound.readerIndex + offset, length: count) {
            return slice
        }
        return unsafe ByteBuffer(bytes: UnsafeBufferPointer(start: address, count: count))
    }

    /// Gives window back for bytes that have been taken.
    func consume(_ count: Int, of stream: Int32) {
        unsafe nghttp2_session_consume(self.raw, stream, count)
    }

    /// Gives window of the connection back for bytes of a stream that is no more.
    func consume(_ count: Int) {
        unsafe nghttp2_session_consume_connection(self.raw, count)
    }

    /// Whether anything the peer may still send has a meaning.
    var wantsRead: Bool { unsafe nghttp2_session_want_read(self.raw) != 0 }
}

// MARK: Writing

extension HTTP2Session {
    /// Collects frames in ``outbound`` until there are so many bytes; false when there are no more.
    func fill(upTo limit: Int) -> Bool {
        while self.outbound.readableBytes < limit {
            var start: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(self.raw, &start)
            guard count > 0 else { return false }
            unsafe self.outbound.writeBytes(UnsafeRawBufferPointer(start: start, count: count))
        }
        return true
    }

    /// Whether there are frames to send, windows permitting.
    var wantsWrite: Bool { unsafe nghttp2_session_want_write(self.raw) != 0 }

    /// Ties a stream to the object that stands for it, and gives all streams equal turns.
    func open(_ stream: HTTP2Stream) {
        unsafe nghttp2_session_set_stream_user_data(
            self.raw,
            stream.id,
            Unmanaged.passUnretained(stream).toOpaque()
        )
        var turns = nghttp2_extpri(urgency: UInt32(NGHTTP2_EXTPRI_DEFAULT_URGENCY), inc: 1)
        unsafe nghttp2_session_change_extpri_stream_priority(self.raw, stream.id, &turns, 1)
    }

    /// Sends the head of a stream's answer; the body is asked for later.
    func submitAnswer(_ head: ByteBuffer, on stream: HTTP2Stream, hasBody: Bool) -> Bool {
        unsafe self.vector.withAnswer(head) { fields, count, _ in
            guard hasBody else { return unsafe nghttp2_submit_response(self.raw, stream.id, fields, count, nil) == 0 }
            var source = unsafe nghttp2_data_provider()
            unsafe source.source.ptr = Unmanaged.passUnretained(stream).toOpaque()
            unsafe source.read_callback = HTTP2Callbacks.readBody
            return unsafe nghttp2_submit_response(self.raw, stream.id, fields, count, &source) == 0
        }
    }

    /// Sends an interim head.
    func submitInterim(_ head: ByteBuffer, on stream: Int32) {
        unsafe self.vector.withAnswer(head) { fields, count, _ in
            _ = unsafe nghttp2_submit_headers(
                self.raw,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                stream,
                nil,
                fields,
                count,
                nil
            )
        }
    }

    /// Sends a trailer section, which ends the stream.
    func submitTrailers(_ lines: ByteBuffer, on stream: Int32) {
        unsafe self.vector.withTrailers(lines) { fields, count in
            _ = unsafe nghttp2_submit_trailer(self.raw, stream, fields, count)
        }
    }

    /// Asks for the body again, after there was none for a while.
    func resume(_ stream: Int32) {
        unsafe nghttp2_session_resume_data(self.raw, stream)
    }

    /// Ends one stream.
    func reset(_ stream: Int32, _ code: Code) {
        unsafe nghttp2_submit_rst_stream(self.raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.raw)
    }

    /// Ends everything: what comes is ignored, and after `GOAWAY` nothing is sent.
    func terminate(_ code: Code) {
        unsafe nghttp2_session_terminate_session(self.raw, code.raw)
    }

    /// Announces the end.
    ///
    /// RFC 9113 §6.8.
    func announceEnd() {
        unsafe nghttp2_submit_shutdown_notice(self.raw)
    }

    /// Asks for a sign that the peer has heard all that was sent before.
    func ping() {
        unsafe nghttp2_submit_ping(self.raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Says which stream was the last.
    func submitLast() {
        unsafe nghttp2_submit_goaway(
            self.raw,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            nghttp2_session_get_last_proc_stream_id(self.raw),
            0,
            nil,
            0
        )
    }
}

/// The library that speaks HTTP/2.
package enum HTTP2Library {
    /// Its version at run time.
    package static var version: String {
        unsafe nghttp2_version(0).map { unsafe String(cString: $0.pointee.version_str) } ?? "unknown"
    }
}
