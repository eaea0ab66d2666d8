// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateNet

extension SocketLoopGroup {
    /// A group of running event loops.
    ///
    /// - Parameter count: How many.
    /// - Returns: The group.
    /// - Throws: A `Failure` when the process has no descriptor left.
    package static func started(_ count: Int) throws(Failure) -> SocketLoopGroup {
        do throws(SocketError) {
            return try SocketLoopGroup(count: count)
        } catch {
            throw Failure(.gatewayEventLoops, "cannot start event loops: \(error)")
        }
    }
}
