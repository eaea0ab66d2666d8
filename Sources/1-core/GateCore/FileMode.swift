// SPDX-License-Identifier: Apache-2.0

/// Who may read and change a file: its permission bits, owner and group.
package struct FileMode: Sendable, Hashable, CustomStringConvertible {
    private let bits: UInt32
    private let owner: UInt32
    private let group: UInt32

    /// Puts together what stat(2) returns; `bits` are the permissions.
    package init(bits: UInt32, owner: UInt32, group: UInt32) {
        self.bits = bits
        self.owner = owner
        self.group = group
    }

    /// Whether every user of the machine may read it.
    package var isReadableByOthers: Bool { self.bits & 0o004 != 0 }

    /// Whether every user of the machine may change it; in a folder with the sticky bit only what is theirs.
    package var isWritableByOthers: Bool { self.bits & 0o002 != 0 && self.bits & 0o1000 == 0 }

    /// Whether a group of several users may change it.
    ///
    /// Many distributions give each user a group of the same number, and root's group is root.
    package var isWritableByGroup: Bool {
        self.bits & 0o020 != 0 && self.group != 0 && self.group != self.owner
    }

    /// Whether the group or every user of the machine has any right to it.
    package var isShared: Bool { self.bits & 0o077 != 0 }

    /// Whether only its owner can read it, or root lets the group of the service read it and nothing else.
    ///
    /// The latter is how Kubernetes mounts a Secret for the group of a pod. The group must not be root's.
    package func isPrivate(toGroup group: UInt32) -> Bool {
        guard self.isShared else { return true }
        return self.owner == 0 && group != 0 && self.group == group && self.bits & 0o037 == 0
    }

    /// The permissions as chmod(1) takes them.
    package var description: String { String(self.bits & 0o777, radix: 8) }
}

extension FileMode {
    /// Who can change the file beside its owner, in words; nil if only the owner can.
    package var otherWriters: String? {
        if self.isWritableByOthers { return "every user of this host" }
        return self.isWritableByGroup ? "its group" : nil
    }
}
