// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The number of file descriptors that this process may have open.
enum DescriptorLimit {
    /// Raises the soft limit to the hard one and returns it.
    ///
    /// The soft limit is low for the sake of programs that use select(2), which nothing here does. Where the calls are
    /// forbidden, as by systemd's `SystemCallFilter=~@resources`, `/proc` has the limit.
    static func raised() -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard unsafe getrlimit(resource, &limit) == 0 else { return MachineResourceUsage().descriptorLimit }
        let soft = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        let isRaised = unsafe setrlimit(resource, &limit) == 0
        return Int(clamping: isRaised ? limit.rlim_max : soft)
    }
}
