// SPDX-License-Identifier: Apache-2.0

import CFuzzDriver
import Foundation
import GateFuzz

// Runs libFuzzer with one fuzz target: the first argument is its name, the others are those of libFuzzer.
guard let name = CommandLine.arguments.dropFirst().first, let target = FuzzTarget(rawValue: name) else {
    print(
        "usage: FuzzDriver \(FuzzTarget.allCases.map(\.rawValue).joined(separator: "|")) [libFuzzer's options] [folders]"
    )
    exit(2)
}
let chosen = target
var arguments = unsafe UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?(CommandLine.unsafeArgv + 1)
var count = CommandLine.argc - 1
let status = unsafe LLVMFuzzerRunDriver(&count, &arguments) { start, count in
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let violation = chosen.violation(in: bytes) {
        FileHandle.standardError.write(Data("violation: \(violation)\n".utf8))
        abort()
    }
    return 0
}
exit(status)
