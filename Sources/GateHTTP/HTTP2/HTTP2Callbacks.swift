// SPDX-License-Identifier: Apache-2.0

internal import CNGHTTP2
internal import GateWire
internal import NIOCore

/// What libnghttp2 calls while it reads and writes; each hands over to the connection or the stream concerned.
///
/// The pointers to both are not counted: a connection lets go of its session before it goes, and keeps each stream until
/// the library has said that it is closed.
enum HTTP2Callbacks {
    /// Made once and only read afterwards.
    static nonisolated(unsafe) let table: OpaquePointer? = {
        var made: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&made) == 0 else { return nil }
        unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(made, frameBegun)
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(made, headBegun)
        unsafe nghttp2_session_callbacks_set_on_header_callback(made, fieldReceived)
        unsafe nghttp2_session_callbacks_set_on_invalid_header_callback(made, fieldRefused)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(made, frameReceived)
        unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(made, frameRefused)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, bodyReceived)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(made, streamClosed)
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(made, frameSent)
        unsafe nghttp2_session_callbacks_set_send_data_callback(made, sendBody)
        return unsafe made
    }()

    private static func connection(_ user: UnsafeMutableRawPointer?) -> HTTP2Connection? {
        unsafe user.map { unsafe Unmanaged<HTTP2Connection>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Hands over without counting a reference, as what is called for each field must.
    private static func hand(_ user: UnsafeMutableRawPointer?, _ body: (HTTP2Connection) -> Void) -> Int32 {
        guard let user = unsafe user else { return 0 }
        return unsafe Unmanaged<HTTP2Connection>.fromOpaque(user)._withUnsafeGuaranteedRef { connection in
            body(connection)
            return connection.isTerminating ? NGHTTP2_ERR_CALLBACK_FAILURE.rawValue : 0
        }
    }

    private static func stream(_ session: OpaquePointer?, _ id: Int32) -> HTTP2Stream? {
        unsafe nghttp2_session_get_stream_user_data(session, id).map {
            unsafe Unmanaged<HTTP2Stream>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// The header of a frame, which is what every member of the union starts with.
    private static func header(_ frame: UnsafePointer<nghttp2_frame>?) -> nghttp2_frame_hd? {
        unsafe frame.map { unsafe UnsafeRawPointer($0).assumingMemoryBound(to: nghttp2_frame_hd.self).pointee }
    }

    private static func isRequest(_ frame: UnsafePointer<nghttp2_frame>?) -> Bool {
        unsafe frame?.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
    }

    private static let frameBegun: nghttp2_on_begin_frame_callback = { _, header, user in
        guard let header = unsafe header?.pointee else { return 0 }
        return unsafe hand(user) { connection in
            connection.frameBegun(FrameKind(header.type), length: header.length, stream: header.stream_id)
        }
    }

    private static let headBegun: nghttp2_on_begin_headers_callback = { _, frame, user in
        unsafe connection(user)?.headBegun(isRequest: isRequest(frame))
        return 0
    }

    private static let fieldReceived: nghttp2_on_header_callback = {
        _,
        frame,
        name,
        nameLength,
        value,
        valueLength,
        _,
        user in
        let nameBytes = unsafe UnsafeBufferPointer(start: name, count: nameLength)
        let valueBytes = unsafe UnsafeBufferPointer(start: value, count: valueLength)
        let isRequest = unsafe isRequest(frame)
        return unsafe hand(user) { connection in
            unsafe connection.fieldReceived(nameBytes.span, valueBytes.span, isRequest: isRequest)
        }
    }

    /// A field with bytes that it must not have makes its stream malformed; the library alone would drop the field.
    private static let fieldRefused: nghttp2_on_invalid_header_callback = { _, _, _, _, _, _, _, _ in
        NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }

    private static let frameReceived: nghttp2_on_frame_recv_callback = { session, frame, user in
        guard let connection = unsafe connection(user), let header = unsafe header(frame) else { return 0 }
        let kind = FrameKind(header.type)
        switch kind {
        case .headers where unsafe isRequest(frame):
            connection.requestReceived(header.stream_id, endsStream: header.endsStream)
        case .headers, .data:
            if kind == .headers {
                connection.trailerReceived()
            } else {
                let padding = unsafe frame?.pointee.data.padlen ?? 0
                connection.dataReceived(header.length - min(padding, header.length), endsStream: header.endsStream)
            }
            if header.endsStream { unsafe stream(session, header.stream_id)?.requestEnded() }
        case .reset where unsafe stream(session, header.stream_id)?.isAnswerSent ?? false:
            // Whoever has the answer may stop sending; that is not counted as a flood.
            break
        default:
            connection.frameReceived(kind, isAcknowledgement: kind == .ping && header.isAcknowledgement)
        }
        return 0
    }

    private static let frameRefused: nghttp2_on_invalid_frame_recv_callback = { _, frame, _, user in
        guard let connection = unsafe connection(user), let header = unsafe header(frame) else { return 0 }
        if FrameKind(header.type) == .headers { connection.headRefused(header.stream_id) }
        return 0
    }

    private static let bodyReceived: nghttp2_on_data_chunk_recv_callback = { session, _, id, start, count, user in
        guard let connection = unsafe connection(user), let session = unsafe session, let start = unsafe start else {
            return 0
        }
        guard let own = connection.session else { return 0 }
        guard let stream = unsafe stream(session, id) else {
            own.consume(count, of: id)
            return 0
        }
        unsafe stream.received(own.part(at: start, count: count))
        return 0
    }

    private static let streamClosed: nghttp2_on_stream_close_callback = { session, id, _, user in
        guard let connection = unsafe connection(user), let stream = unsafe stream(session, id) else { return 0 }
        connection.closed(stream)
        return 0
    }

    private static let frameSent: nghttp2_on_frame_send_callback = { session, frame, user in
        guard let connection = unsafe connection(user), let header = unsafe header(frame) else { return 0 }
        switch FrameKind(header.type) {
        case .reset: connection.resetSent(isOurFault: unsafe frame?.pointee.rst_stream.error_code == 0)
        case .goAway: connection.farewellSent()
        case .data where header.endsStream, .headers where header.endsStream:
            unsafe stream(session, header.stream_id)?.answerSent()
        default: break
        }
        return 0
    }

    /// Asks a stream how much of its body goes into the next frame; the bytes themselves are taken by ``sendBody``.
    static let readBody: nghttp2_data_source_read_callback = { _, _, _, room, flags, source, _ in
        guard let pointer = unsafe source?.pointee.ptr else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
        let stream = unsafe Unmanaged<HTTP2Stream>.fromOpaque(pointer).takeUnretainedValue()
        switch stream.nextPart(upTo: room) {
        case .later:
            return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        case .bytes(let count):
            unsafe flags?.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
            return count
        case .last(let count, let hasTrailers):
            let end = hasTrailers ? NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue : 0
            unsafe flags?.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue | NGHTTP2_DATA_FLAG_EOF.rawValue | end
            return count
        }
    }

    private static let sendBody: nghttp2_send_data_callback = { _, _, header, count, source, user in
        guard let pointer = unsafe source?.pointee.ptr, let session = unsafe connection(user)?.session else {
            return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
        unsafe session.outbound.writeBytes(UnsafeRawBufferPointer(start: header, count: 9))
        unsafe Unmanaged<HTTP2Stream>.fromOpaque(pointer).takeUnretainedValue().move(count, to: session)
        return 0
    }
}

/// The frames with a meaning to us.
///
/// RFC 9113 §6.
enum FrameKind: UInt8 {
    case data = 0
    case headers = 1
    case priority = 2
    case reset = 3
    case settings = 4
    case pushPromise = 5
    case ping = 6
    case goAway = 7
    case windowUpdate = 8
    case continuation = 9
    case other = 255

    init(_ code: UInt8) {
        self = FrameKind(rawValue: code) ?? .other
    }
}

extension nghttp2_frame_hd {
    fileprivate var endsStream: Bool { self.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 }
    fileprivate var isAcknowledgement: Bool { self.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 }
}
