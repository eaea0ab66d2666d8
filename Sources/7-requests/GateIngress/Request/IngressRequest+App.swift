// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateIssuer
internal import GatePolicy
internal import GateRuntime
internal import GateWire

// What of a request the app may get.
extension IngressRequest {
    /// The head as its app may get it: a preflight without credentials and what would make it another request.
    func headForApp(on route: RuntimeRoute) -> RequestHead {
        guard self.isAdmittedPreflight(on: route) else { return self.head }
        return self.head.removing { self.isNotOfPreflight($0) }
    }

    /// Whether `Authorization` of a request is meant for the gateway: the app must not get what opens other apps.
    ///
    /// A credential of the gateway is hidden on every route and in every spelling, since clients send a password to all paths of a
    /// host and apps read more spellings than the gateway accepts.
    func hidesAuthorization(on route: RuntimeRoute, _ known: some KnownCallers) -> Bool {
        let mayBeOurs =
            self.runtime.clients.issuer != nil || route.takesMachines || self.runtime.machines.hasServiceTokens
        guard mayBeOurs, let field = self.head.message.first(.authorization) else { return false }
        if self.runtime.clients.issuer != nil, AccessTokenReader.isIn(self, known) { return true }
        if !route.route.exchangedIssuers.isEmpty, self.hasTokenOfIssuer(route.route.exchangedIssuers) {
            return true
        }
        if route.takesMachines {
            switch MachineTokenReader.read(self, on: route, known) {
            case .absent: break
            case .caller, .rejected, .need, .signIn: return true
            }
        }
        return OwnCredential.isIn(
            self.head.message.slice(field.valueRange),
            issuer: self.runtime.clients.issuer?.signer.issuer
        )
    }

    /// Whether a request has a JWT that names one of some issuers, whose tokens are for exchange.
    private func hasTokenOfIssuer(_ names: Set<String>) -> Bool {
        guard case .token(let credential) = MachineCredential.field(of: self.head, takesBasic: false) else {
            return false
        }
        return self.runtime.machines.hasIssuer(of: credential, among: names)
    }

    private func isNotOfPreflight(_ field: FieldLine) -> Bool {
        guard field.name != .cookie, field.name != .authorization else { return true }
        return self.head.message.text(field.nameRange).lowercased().hasPrefix("x-http-method")
            || self.head.message.spells(field.nameRange, "x-method-override")
    }

    /// Whether a request is the preflight of a call from a page that the app lets write.
    ///
    /// Browsers send it without cookies and tokens; the app decides. Fetch standard §4.8.
    func isAdmittedPreflight(on route: RuntimeRoute) -> Bool {
        guard route.takesWrites, self.head.method == .options, self.head.framing == .none,
            let origin = self.head.message.value(.origin), self.head.message.count(.origin) == 1,
            self.head.message.fields.contains(where: {
                self.head.message.spells($0.nameRange, "access-control-request-method")
            })
        else { return false }
        let isDenied = self.head.path.withSpan(of: self.head.message) { path in
            route.route.deniesEveryUser(
                method: self.head.method.rawValue,
                path,
                at: self.now,
                guardsSpellings: route.guardsSpellings
            )
        }
        return !isDenied && self.admitsPage(of: origin, on: route)
    }
}
