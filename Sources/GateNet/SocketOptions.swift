// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// The options of a ``SocketChannel`` that handlers of this house, and those of TLS, ask for.
struct SocketOptions: NIOSynchronousChannelOptions {
    let channel: SocketChannel

    func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) throws {
        switch (option, value) {
        case (is ChannelOptions.Types.AutoReadOption, let reads as Bool):
            self.channel.setReadsOnItsOwn(reads)
        case (
            is ChannelOptions.Types.WriteBufferWaterMarkOption, let marks as ChannelOptions.Types.WriteBufferWaterMark
        ):
            self.channel.marks = marks
        default:
            throw ChannelError.operationUnsupported
        }
    }

    func getOption<Option: ChannelOption>(_ option: Option) throws -> Option.Value {
        let value: Any =
            switch option {
            case is ChannelOptions.Types.AutoReadOption: self.channel.readsOnItsOwn
            case is ChannelOptions.Types.AllowRemoteHalfClosureOption: false
            case is ChannelOptions.Types.WriteBufferWaterMarkOption: self.channel.marks
            case is ChannelOptions.Types.BufferedWritableBytesOption: self.channel.output.bytes
            default: throw ChannelError.operationUnsupported
            }
        guard let value = value as? Option.Value else { throw ChannelError.operationUnsupported }
        return value
    }
}

extension SocketChannel {
    /// Sets an option, on the loop.
    package func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
        self.loop.submit { try SocketOptions(channel: self).setOption(option, value: value) }
    }

    /// The value of an option, asked for on the loop.
    package func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
        self.loop.submit { try SocketOptions(channel: self).getOption(option) }
    }

    /// Says at how many waiting bytes writers are to stop, and when they may go on.
    package func setWaterMarks(low: Int, high: Int) {
        self.marks = ChannelOptions.Types.WriteBufferWaterMark(low: low, high: high)
    }

    func setReadsOnItsOwn(_ reads: Bool) {
        let begins = reads && !self.readsOnItsOwn
        self.readsOnItsOwn = reads
        if begins { self.pipeline.syncOperations.read() }
    }
}
