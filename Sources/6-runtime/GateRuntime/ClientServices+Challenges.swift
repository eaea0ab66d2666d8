// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateIssuer
internal import GatePolicy
package import GateWire

extension ClientServices {
    /// The challenge for a client whose access token does not have all of some scopes.
    ///
    /// RFC 6750 §3.1, RFC 9449 §7.1.
    package func challenge(on route: RuntimeRoute, scopes: [String], to request: RequestHead) -> String {
        let scheme = request.isBoundToKey ? "DPoP \(DPoPProof.algorithmList)" : "Bearer realm=\"gatehouse\""
        let scope = "scope=\"\(scopes.joined(separator: " "))\""
        return "\(scheme), error=\"insufficient_scope\", \(scope)\(self.metadataParameter(of: route))"
    }

    /// RFC 9728 §5.1.
    private func metadataParameter(of route: RuntimeRoute) -> String {
        self.resourceMetadata(of: route).map { ", resource_metadata=\"\($0)\"" } ?? ""
    }

    /// What a client of an MCP server is to ask for first: MCP, "Authorization", Scope Selection Strategy.
    ///
    /// Not all scopes of the app: a denial for want of one names that.
    private func scopeParameter(of route: RuntimeRoute) -> String {
        guard route.maxMCPBody != nil else { return "" }
        return ", scope=\"\((["openid"] + route.route.scopesOfEachAdmission).joined(separator: " "))\""
    }

    /// The challenges of a route for clients without a session or a valid token.
    ///
    /// RFC 6750 §3, RFC 7617 §2, RFC 9449 §7.1.
    ///
    /// - Parameters:
    ///   - route: The route.
    ///   - request: The request.
    ///   - isRejected: Whether the request has a token that is not valid.
    ///   - asksForPassword: Whether the client takes a challenge for a password as one; a browser would show a dialog.
    /// - Returns: The values of `WWW-Authenticate` beside that for sessions; none for an app that accepts no tokens.
    package func challenges(
        on route: RuntimeRoute,
        to request: RequestHead,
        isRejected: Bool,
        asksForPassword: Bool
    ) -> [String] {
        var challenges: [String] = []
        let isBound = route.takesTokens && request.isBoundToKey
        let error = isRejected ? ", error=\"invalid_token\"" : ""
        if route.takesBasic, asksForPassword { challenges.append("Basic realm=\"gatehouse\", charset=\"UTF-8\"") }
        if route.takesMachines || route.takesTokens {
            let more = "\(isBound ? "" : error)\(self.scopeParameter(of: route))\(self.metadataParameter(of: route))"
            challenges.append("Bearer realm=\"gatehouse\"\(more)")
        }
        if route.takesTokens, isBound || self.issuer?.clients.values.contains(where: \.requiresDPoP) ?? false {
            challenges.append("DPoP \(DPoPProof.algorithmList)\(isBound ? error : "")")
        }
        return challenges
    }
}

extension RequestHead {
    /// Whether it has a token that is bound to a key, RFC 9449 §7.1.
    fileprivate var isBoundToKey: Bool {
        guard let field = self.message.first(.authorization) else { return false }
        return self.message.text(field.valueRange).lowercased().hasPrefix("dpop ")
    }
}
