// SPDX-License-Identifier: Apache-2.0

internal import CNGHTTP2
internal import NIOCore

/// What libnghttp2 calls while it reads and writes; each hands over to the connection or the stream concerned.
///
/// The pointers to both are not counted: a connection lets go of its session before it goes, and keeps each stream until
/// the library has said that it is closed.
enum HTTP2ClientCallbacks {
    /// Made once and only read afterwards.
    static nonisolated(unsafe) let table: OpaquePointer? = {
        var made: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&made) == 0 else { return nil }
        unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(made, frameBegun)
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(made, headBegun)
        unsafe nghttp2_session_callbacks_set_on_header_callback(made, fieldReceived)
        unsafe nghttp2_session_callbacks_set_on_invalid_header_callback(made, fieldRefused)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(made, frameReceived)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, bodyReceived)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(made, streamClosed)
        return unsafe made
    }()

    private static func connection(_ user: UnsafeMutableRawPointer?) -> HTTP2UpstreamConnection? {
        unsafe user.map { unsafe Unmanaged<HTTP2UpstreamConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func stream(_ session: OpaquePointer?, _ id: Int32) -> HTTP2UpstreamStream? {
        unsafe nghttp2_session_get_stream_user_data(session, id).map {
            unsafe Unmanaged<HTTP2UpstreamStream>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// The header of a frame, which is what every member of the union starts with.
    private static func header(_ frame: UnsafePointer<nghttp2_frame>?) -> nghttp2_frame_hd? {
        unsafe frame.map { unsafe UnsafeRawPointer($0).assumingMemoryBound(to: nghttp2_frame_hd.self).pointee }
    }

    /// What stops the library when the connection has been given up.
    private static func verdict(_ connection: HTTP2UpstreamConnection) -> Int32 {
        connection.isFlooded ? NGHTTP2_ERR_CALLBACK_FAILURE.rawValue : 0
    }

    private static let frameBegun: nghttp2_on_begin_frame_callback = { _, header, user in
        guard let connection = unsafe connection(user), let header = unsafe header?.pointee else { return 0 }
        connection.frameBegun(header.type, length: header.length, endsStream: header.endsStream)
        return verdict(connection)
    }

    private static let headBegun: nghttp2_on_begin_headers_callback = { session, frame, user in
        guard let connection = unsafe connection(user), let header = unsafe header(frame) else { return 0 }
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

    /// A field with bytes that it must not have makes its stream malformed; the library alone would drop the field.
    private static let fieldRefused: nghttp2_on_invalid_header_callback = { _, _, _, _, _, _, _, _ in
        NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }

    private static let frameReceived: nghttp2_on_frame_recv_callback = { session, frame, user in
        guard let connection = unsafe connection(user), let header = unsafe header(frame) else { return 0 }
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue:
            guard let stream = unsafe stream(session, header.stream_id) else { return 0 }
            connection.headReceived(stream, endsStream: header.endsStream)
        case NGHTTP2_DATA.rawValue where header.endsStream:
            unsafe stream(session, header.stream_id)?.answerEnded()
        case NGHTTP2_GOAWAY.rawValue:
            connection.goingAway()
        case NGHTTP2_SETTINGS.rawValue where header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0:
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
        connection.closed(stream, wasRefused: code == HTTP2ClientSession.Code.refusedStream.rawValue)
        return 0
    }

    /// Copies what there is of a request's body into the next frame.
    static let readBody: nghttp2_data_source_read_callback = { _, _, room, length, flags, source, _ in
        guard let pointer = unsafe source?.pointee.ptr, let room = unsafe room else {
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
            unsafe UnsafeMutableRawBufferPointer(start: room, count: length).copyMemory(from: bytes)
        }
        return count
    }
}

extension nghttp2_frame_hd {
    fileprivate var endsStream: Bool { self.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 }
}
