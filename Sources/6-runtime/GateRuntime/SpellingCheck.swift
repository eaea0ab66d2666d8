// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateHeaders
internal import GatePolicy
package import GateWire

/// Rejects a path that an app server could read as a path of another app, or as one that needs a sign-in.
///
/// Routes and rules are matched by the canonical path, and the app gets that path; but servers decode twice, take an escaped
/// slash for a separator, drop parameters, or ignore letter case. What is checked here is every reading that
/// some server is known to have, so that rules hold whatever the app does.
package struct SpellingCheck {
    let runtime: RuntimeConfiguration
    let route: RuntimeRoute

    /// The check for the route that the canonical path of a request leads to.
    package init(runtime: RuntimeConfiguration, route: RuntimeRoute) {
        self.runtime = runtime
        self.route = route
    }

    /// Why the request is rejected; nil if every reading of its path leads to the same app and rule.
    ///
    /// Nearly all paths are plain, and are done after one look at their bytes, or none where nothing depends on it.
    package func failure(of request: RequestHead, isOpen: Bool) -> Failure? {
        // The server takes `Destination` for one of its own paths, which would be judged as one of the clients' paths.
        if self.route.requestChanges?.paths?.isConfined == true,
            SpellingCheck.destinations(of: request)?.isEmpty == false
        {
            let detail = "\(self.route.name) gets other paths than clients send, and 'Destination' is not mapped"
            return Failure(.pathDestination, detail)
        }
        let facts = self.runtime.routes.spellings.facts(of: self.route.index)
        let isPart = facts.areOthers || self.route.route.path != "/" || self.route.confinesPaths
        guard isPart || isOpen || self.route.rejectsEscapedSlash else { return nil }
        let failure: Failure? = request.path.withSpan(of: request.message) { path in
            guard PathReadings.isPlain(path) else {
                return self.failure(of: path, request, depends: isPart || isOpen, isOpen: isOpen)
            }
            if self.route.confinesPaths, let failure = self.rewriteFailure(path, [path.indices.map { path[$0] }]) {
                return failure
            }
            let hasCapitals = path.indices.contains { path[$0] >= 0x41 && path[$0] <= 0x5A }
            guard facts.areOthers, facts.haveCapitals || hasCapitals else { return nil }
            return self.foldedFailure(path.indices.map { path[$0] }, of: request)
        }
        return failure ?? (isPart || isOpen ? self.destinationFailure(of: request, isOpen: isOpen) : nil)
    }

    /// Whether something holds for the path of a request in every reading; false if that is unknown.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - holds: Asked of each reading, and whether it is a decoded one.
    /// - Returns: Whether it does.
    package func holdsInEveryReading(of request: RequestHead, _ holds: (Span<UInt8>, Bool) -> Bool) -> Bool {
        request.path.withSpan(of: request.message) { path in
            guard self.route.guardsSpellings, !PathReadings.isPlain(path) else { return holds(path, false) }
            let readings = PathReadings.all(of: path.indices.map { path[$0] })
            return readings?.allSatisfy { holds($0.path.span, $0.isDecoded) } ?? false
        }
    }

    /// COPY and MOVE write to a second path, RFC 4918 §10.3; it has to lead to the same app and rule as the first.
    ///
    /// Servers name such methods in other ways too, so the field is looked at whatever the method is. The host in it is
    /// left aside, as some servers do.
    private func destinationFailure(of request: RequestHead, isOpen: Bool) -> Failure? {
        for path in SpellingCheck.destinations(of: request) ?? [] {
            guard let path else {
                return Failure(
                    .pathDestination,
                    "'Destination' is neither a URL nor a path in its shortest spelling"
                )
            }
            guard !self.leadsElsewhere(path, request, isOpen: isOpen) else {
                let detail = "'Destination' leads out of \(self.route.name), or from a public path to another"
                return Failure(.pathDestination, detail)
            }
        }
        return nil
    }

    /// The paths in `Destination`, in canonical spelling; nil for one without a single spelling, and for none at all.
    package static func destinations(of request: RequestHead) -> [[UInt8]?]? {
        guard request.message.first(.destination) != nil else { return nil }
        return request.message.fields.filter { $0.name == .destination }.compactMap { field -> [UInt8]?? in
            let value = Array(request.message.slice(field.valueRange))
            if self.isName(value), !["COPY", "MOVE"].contains(request.method.rawValue) { return nil }
            return .some(CanonicalPath.matched(ofReference: value))
        }
    }

    /// Whether some server takes a second path for one of another app or rule than the first.
    private func leadsElsewhere(_ path: [UInt8], _ request: RequestHead, isOpen: Bool) -> Bool {
        let isSame = self.runtime.routes.table.entry(host: request.authority.host, path: path.span) == self.route.index
        guard isSame, !isOpen || self.route.route.isOpen(method: request.method.rawValue, path: path.span) else {
            return true
        }
        guard PathReadings.isPlain(path.span) else {
            return self.failure(of: path.span, request, depends: true, isOpen: isOpen) != nil
        }
        return self.foldedFailure(path, of: request) != nil
    }

    /// Whether a value can be no path at all: apps may mean something else by the field.
    private static func isName(_ value: [UInt8]) -> Bool {
        !value.contains(UInt8(ascii: "/")) && !value.contains(UInt8(ascii: "\\")) && !PercentEncoding.isEscaped(value)
    }

    private func failure(of path: Span<UInt8>, _ request: RequestHead, depends: Bool, isOpen: Bool) -> Failure? {
        if self.route.rejectsEscapedSlash, PathReadings.hasEscapedSeparator(path) {
            return Failure(.pathEncodedSlash, "\(self.route.name) has 'encoded_slash: reject'")
        }
        guard depends else { return nil }
        let bytes = path.indices.map { path[$0] }
        guard let readings = PathReadings.all(of: bytes) else {
            let detail = "a server could see '..' or other bytes than text in the path"
            return Failure(self.reason(of: bytes), detail)
        }
        for reading in readings {
            if let failure = self.failure(of: reading, bytes, request, isOpen: isOpen) { return failure }
        }
        return self.route.confinesPaths ? self.rewriteFailure(path, readings.map(\.path)) : nil
    }

    /// The rejection of a path that a server could see below other segments than those by which it is rewritten.
    private func rewriteFailure(_ path: Span<UInt8>, _ readings: [[UInt8]]) -> Failure? {
        guard let paths = self.route.requestChanges?.paths, paths.isAmbiguous(path, read: readings) else { return nil }
        let detail = "a server could read the path as one that 'rewrite' of \(self.route.name) maps to another"
        return Failure(self.reason(of: path.indices.map { path[$0] }), detail)
    }

    private func failure(
        of reading: PathReading,
        _ path: [UInt8],
        _ request: RequestHead,
        isOpen: Bool
    ) -> Failure? {
        let spellings = self.runtime.routes.spellings
        let table = reading.isDecoded ? spellings.decoded : self.runtime.routes.table
        guard let other = table.entry(host: request.authority.host, path: reading.path.span) else {
            return Failure(self.reason(of: path), "a server could read the path as one of no app")
        }
        if other != self.route.index, self.runtime.routes.all[other].guardsSpellings {
            return self.failure(other, path)
        }
        // The folded routes are decoded ones: what still has escapes is compared once these are decoded.
        if !PercentEncoding.isEscaped(reading.path), let failure = self.foldedFailure(reading.path, of: request) {
            return failure
        }
        guard isOpen, self.route.guardsSpellings else { return nil }
        let method = request.method.rawValue
        let isOpenSo = self.route.route.isOpen(
            method: method,
            path: reading.path.span,
            as: reading.isDecoded ? .decoded : .canonical
        )
        guard !isOpenSo else { return nil }
        let detail = "\(self.route.name) could read the public path as one that needs a sign-in"
        return Failure(self.reason(of: path), detail)
    }

    /// A path that is another app's once letter case is left aside.
    private func foldedFailure(_ path: [UInt8], of request: RequestHead) -> Failure? {
        let spellings = self.runtime.routes.spellings
        guard
            let other = spellings.folded.entry(host: request.authority.host, path: PathNormalization.folded(path).span),
            other != self.route.index, self.runtime.routes.all[other].guardsSpellings
        else { return nil }
        return self.failure(other, path)
    }

    private func failure(_ other: Int, _ path: [UInt8]) -> Failure {
        let name = self.runtime.routes.all[other].name
        let detail = "a server could read the path as one of the app \(name); see 'path_spelling' of \(name)"
        return Failure(self.reason(of: path), detail)
    }

    /// A path with parameters has a separate code, which shows the sender what to remove.
    private func reason(of path: [UInt8]) -> Failure.Reason {
        path.contains(UInt8(ascii: ";")) ? .pathParameter : .pathAmbiguous
    }
}
