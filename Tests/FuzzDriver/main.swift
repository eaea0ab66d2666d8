// SPDX-License-Identifier: Apache-2.0

import CFuzzDriver
import Foundation
import GateFuzz

// Lets libFuzzer try one of the trials: the first argument is its name, the others are libFuzzer's.
guard let name = CommandLine.arguments.dropFirst().first, let trial = FuzzTarget(rawValue: name) else {
    print(
        "usage: FuzzDriver \(FuzzTarget.allCases.map(\.rawValue).joined(separator: "|")) [libFuzzer's options] [folders]"
    )
    exit(2)
}
let chosen = trial
var arguments = unsafe UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?(CommandLine.unsafeArgv + 1)
var count = CommandLine.argc - 1
let status = unsafe LLVMFuzzerRunDriver(&count, &arguments) { start, count in
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let fault = chosen.fault(in: bytes) {
        FileHandle.standardError.write(Data("fault: \(fault)\n".utf8))
        abort()
    }
    return 0
}
exit(status)
