// SPDX-License-Identifier: Apache-2.0

import GateFuzz
import Testing

@Suite struct ReplayTests {
    @Test(arguments: FuzzTarget.allCases) func `whatever fuzzing has found is borne`(trial: FuzzTarget) throws {
        let inputs = try Corpus.inputs(for: trial)
        #expect(inputs.count > 3)
        for input in inputs {
            let fault = trial.fault(in: input)
            #expect(fault == nil, "\(trial.rawValue) \(input)")
        }
    }
}
