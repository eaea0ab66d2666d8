// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

extension ImportedApp {
    /// Has the server get other segments in place of the app's path: nothing if they are the same, `strip_prefix` for `/`.
    ///
    /// - Parameter target: The segments, in canonical spelling; a slash at the end makes no difference.
    /// - Returns: Whether that can be written.
    mutating func replacePath(by target: String) -> Bool {
        let plain = target.hasSuffix("/") && target != "/" ? String(target.dropLast()) : target
        guard plain != self.path else { return true }
        guard plain != "/" else {
            self.settings.add("strip_prefix", .flag(true))
            return true
        }
        guard PathPattern.isCanonical(plain), let from = ConfigText(self.path), let to = ConfigText(plain) else {
            return false
        }
        var rewrite = YAMLMapping()
        rewrite.add("from", from)
        rewrite.add("to", to)
        self.settings.add("rewrite", rewrite)
        return true
    }
}
