// SPDX-License-Identifier: Apache-2.0

internal import UnixSignals

/// Keeps signals from ending the process by themselves, from its making on; those that come wait until they are read.
package struct SignalTrap: Sendable {
    let signals: UnixSignalsSequence

    /// Traps the signals that a gateway knows.
    package init() async {
        self.signals = await UnixSignalsSequence(trapping: .sighup, .sigterm, .sigint)
    }
}
