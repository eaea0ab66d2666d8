// SPDX-License-Identifier: Apache-2.0

internal import CNGHTTP2
internal import GateNet
internal import GateWire
internal import NIOCore

/// The callbacks of libnghttp2, which pass events to the connection or the stream.
///
/// The pointers to both are not retained: a connection releases its session before it goes away, and keeps each stream
/// until libnghttp2 has closed it.
enum HTTP2Callbacks {
    /// Created once, then only read.
    static nonisolated(unsafe) let table: OpaquePointer? = {
        var made: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&made) == 0 else { return nil }
        unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(made, frameBegun)
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(made, headBegun)
        unsafe nghttp2_session_callbacks_set_on_header_callback(made, fieldReceived)
        unsafe nghttp2_session_callbacks_set_on_invalid_header_callback(made, fieldRejected)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(made, frameReceived)
        unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(made, frameRejected)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, bodyReceived)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(made, streamClosed)
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(made, frameSent)
        unsafe nghttp2_session_callbacks_set_send_data_callback(made, sendBody)
        return unsafe made
    }()

    private static func connection(_ user: UnsafeMutableRawPointer?) -> HTTP2Connection? {
        unsafe HTTP2CallbackArguments.object(user, as: HTTP2Connection.self)
    }

    /// Passes an event without retaining the connection, because some callbacks run once per field.
    private static func hand(_ user: UnsafeMutableRawPointer?, _ body: (HTTP2Connection) -> Void) -> Int32 {
        guard let user = unsafe user else { return 0 }
        return unsafe Unmanaged<HTTP2Connection>.fromOpaque(user)._withUnsafeGuaranteedRef { connection in
            body(connection)
            return connection.isTerminating ? NGHTTP2_ERR_CALLBACK_FAILURE.rawValue : 0
        }
    }

    private static func stream(_ session: OpaquePointer?, _ id: Int32) -> HTTP2Stream? {
        unsafe HTTP2CallbackArguments.stream(session, id, as: HTTP2Stream.self)
    }

    private static func isRequest(_ frame: UnsafePointer<nghttp2_frame>?) -> Bool {
        unsafe frame?.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
    }

    private static let frameBegun: nghttp2_on_begin_frame_callback = { _, header, user in
        guard let header = unsafe header?.pointee else { return 0 }
        return unsafe hand(user) { connection in
            connection.frameBegun(HTTP2FrameType(header.type), length: header.length, stream: header.stream_id)
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

    /// A field with invalid bytes makes its stream malformed; by default libnghttp2 would only drop the field.
    private static let fieldRejected: nghttp2_on_invalid_header_callback = { _, _, _, _, _, _, _, _ in
        NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }

    private static let frameReceived: nghttp2_on_frame_recv_callback = { session, frame, user in
        guard let connection = unsafe connection(user), let header = unsafe HTTP2CallbackArguments.header(frame) else {
            return 0
        }
        let kind = HTTP2FrameType(header.type)
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
        case .reset: connection.resetReceived(unsafe stream(session, header.stream_id))
        default:
            connection.frameReceived(kind, isAcknowledgement: kind == .ping && header.isAcknowledgement)
        }
        return 0
    }

    private static let frameRejected: nghttp2_on_invalid_frame_recv_callback = { _, frame, _, user in
        guard let connection = unsafe connection(user), let header = unsafe HTTP2CallbackArguments.header(frame) else {
            return 0
        }
        if HTTP2FrameType(header.type) == .headers { connection.headRejected(header.stream_id) }
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
        guard let connection = unsafe connection(user), let header = unsafe HTTP2CallbackArguments.header(frame) else {
            return 0
        }
        switch HTTP2FrameType(header.type) {
        case .reset: connection.resetSent(isNoError: unsafe frame?.pointee.rst_stream.error_code == 0)
        case .goAway: connection.goAwaySent()
        case .data where header.endsStream, .headers where header.endsStream:
            unsafe stream(session, header.stream_id)?.responseSent()
            connection.responseSent()
        default: break
        }
        return 0
    }

    /// Asks a stream how much of its body goes into the next frame; ``sendBody`` takes the bytes.
    static let readBody: nghttp2_data_source_read_callback = { _, _, _, capacity, flags, source, _ in
        guard let pointer = unsafe source?.pointee.ptr else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
        let stream = unsafe Unmanaged<HTTP2Stream>.fromOpaque(pointer).takeUnretainedValue()
        switch stream.nextPart(upTo: capacity) {
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
