// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

/// Who may read a private file.
@Suite struct FileModeTests {
    private let service: UInt32 = 65_532

    private func isPrivate(_ bits: UInt32, owner: UInt32, group: UInt32, service: UInt32? = nil) -> Bool {
        FileMode(bits: bits, owner: owner, group: group).isPrivate(toGroup: service ?? self.service)
    }

    @Test func `a file is private if only its owner has rights to it`() {
        #expect(self.isPrivate(0o600, owner: 1000, group: 1000))
        #expect(self.isPrivate(0o400, owner: 0, group: 0))
    }

    @Test(arguments: [0o440, 0o640] as [UInt32])
    func `root may let the group of the service read it, as a Secret of Kubernetes is mounted`(bits: UInt32) {
        #expect(self.isPrivate(bits, owner: 0, group: self.service))
    }

    @Test(arguments: [0o460, 0o450, 0o444, 0o442, 0o441] as [UInt32])
    func `the group may do nothing but read, and others nothing`(bits: UInt32) {
        #expect(!self.isPrivate(bits, owner: 0, group: self.service))
    }

    @Test func `another group, another owner or the group of root makes it shared`() {
        #expect(!self.isPrivate(0o440, owner: 0, group: 1000))
        #expect(!self.isPrivate(0o440, owner: 1000, group: self.service))
        #expect(!self.isPrivate(0o440, owner: 0, group: 0, service: 0))
    }
}
