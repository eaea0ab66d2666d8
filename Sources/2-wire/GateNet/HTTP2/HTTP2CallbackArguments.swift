// SPDX-License-Identifier: Apache-2.0

package import CNGHTTP2

/// Reads the arguments that libnghttp2 passes to callbacks.
///
/// The generic functions are inlinable: they run for every frame, and unspecialized they cost 1 % of a request.
@safe package enum HTTP2CallbackArguments {
    /// The object that the user pointer refers to, such as the connection.
    @inlinable package static func object<Object: AnyObject>(
        _ user: UnsafeMutableRawPointer?,
        as type: Object.Type
    ) -> Object? {
        guard let user = unsafe user else { return nil }
        return unsafe Unmanaged<Object>.fromOpaque(user).takeUnretainedValue()
    }

    /// The object that is attached to a stream.
    @inlinable package static func stream<Stream: AnyObject>(
        _ session: OpaquePointer?,
        _ id: Int32,
        as type: Stream.Type
    ) -> Stream? {
        unsafe HTTP2CallbackArguments.object(nghttp2_session_get_stream_user_data(session, id), as: type)
    }

    /// The header of a frame, with which every member of the union starts.
    @inlinable package static func header(_ frame: UnsafePointer<nghttp2_frame>?) -> nghttp2_frame_hd? {
        guard let frame = unsafe frame else { return nil }
        return unsafe UnsafeRawPointer(frame).assumingMemoryBound(to: nghttp2_frame_hd.self).pointee
    }
}

/// The frame types.
///
/// RFC 9113 §6.
package enum HTTP2FrameType: UInt8, Sendable {
    /// A part of a body.
    case data = 0
    /// The start of a header section.
    case headers = 1
    /// Deprecated priorities.
    case priority = 2
    /// The end of a stream before its completion.
    case reset = 3
    /// Settings of the peer, or their acknowledgement.
    case settings = 4
    /// An announced response.
    case pushPromise = 5
    /// A test of the connection, or its acknowledgement.
    case ping = 6
    /// The end of the connection.
    case goAway = 7
    /// More flow-control window.
    case windowUpdate = 8
    /// The continuation of a header section.
    case continuation = 9
    /// Any other type.
    case other = 255

    /// The type of a frame header.
    package init(_ code: UInt8) {
        self = HTTP2FrameType(rawValue: code) ?? .other
    }
}

extension nghttp2_frame_hd {
    /// Whether the frame is the last of its stream.
    package var endsStream: Bool { self.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 }

    /// Whether the frame acknowledges another one.
    package var isAcknowledgement: Bool { self.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 }
}
