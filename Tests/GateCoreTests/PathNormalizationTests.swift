// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct PathNormalizationTests {
    @Test(arguments: [("/b%C3%BCro", "/b\u{FC}ro"), ("/a", "/a"), ("/100%25", "/100%")])
    func `a prefix of the file is decoded as paths are`(_ path: String, _ decoded: String) {
        #expect(PathNormalization.decoded(path) == decoded)
    }

    @Test(arguments: [
        ("/Admin", "/admin"), ("/ADM\u{131}N", "/admin"), ("/\u{17f}ecret", "/secret"), ("/\u{212a}ey", "/key"),
        ("/adm\u{130}n", "/admin"),
    ])
    func `X-02 letters that some server folds into an ASCII letter are folded`(_ path: String, _ folded: String) {
        #expect(PathNormalization.folded(Array(path.utf8)) == Array(folded.utf8))
    }
}
