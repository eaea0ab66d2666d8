// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
package import GateConfiguration
internal import GateCore
package import GateServer
package import Logging

/// Starts a gateway; prints why it cannot start.
///
/// - Parameters:
///   - result: The configuration.
///   - options: How to run.
///   - logger: The log.
///   - whereToListen: The setting that changes an address in use.
/// - Returns: The serving gateway.
/// - Throws: Exit code 1.
package func started(
    _ result: ConfigurationResult,
    options: GatewayOptions,
    logger: Logger,
    whereToListen: String = "'listeners' or 'operations' in the file",
) async throws -> Gateway {
    do throws(Failure) {
        return try await Gateway.start(result, options: options, logger: logger)
    } catch {
        let advice = error.reason == .listenerBind ? "; choose another address with \(whereToListen)" : ""
        printError("gatehouse: error: \(error.code): \(error.detail)\(advice)")
        throw ExitCode(1)
    }
}
