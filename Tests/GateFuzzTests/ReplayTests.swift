// SPDX-License-Identifier: Apache-2.0

import GateFuzz
import Testing

@Suite struct ReplayTests {
    @Test(arguments: FuzzTarget.allCases) func `every kept fuzzing input passes`(target: FuzzTarget) throws {
        let inputs = try Corpus.inputs(for: target)
        #expect(inputs.count > 3)
        for input in inputs {
            let violation = target.violation(in: input)
            #expect(violation == nil, "\(target.rawValue) \(input)")
        }
    }
}
