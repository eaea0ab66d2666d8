// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Runs work to its end even if the client disconnects meanwhile: in a task of its own, which is not cancelled.
///
/// - Parameter work: The work.
/// - Returns: Its result.
/// - Throws: What it throws.
package func uncancelled<Value: Sendable>(
    _ work: @escaping @Sendable () async throws(Failure) -> Value
) async throws(Failure) -> Value {
    let task = Task { () async -> Result<Value, Failure> in
        do throws(Failure) {
            return .success(try await work())
        } catch {
            return .failure(error)
        }
    }
    return try await task.value.get()
}
