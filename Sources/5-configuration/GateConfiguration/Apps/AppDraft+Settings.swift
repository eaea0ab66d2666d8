// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GatePolicy
internal import GateSessions
package import GateYAML

extension AppDraft {
    /// Checks who may access an app of the file, and builds its settings.
    ///
    /// - Parameters:
    ///   - app: The app, by its name.
    ///   - publicURL: The origin of the gateway; nil if it is missing or invalid.
    ///   - known: The providers of the file.
    ///   - rules: The rule sets of the file.
    ///   - maxStale: How long a session is used after a failed re-check, which is the same for all apps.
    ///   - reading: Receives the errors and warnings.
    /// - Returns: The settings; nil without the public URL, or if what the app does is missing or invalid.
    package static func settings(
        of app: Named<AppDraft>,
        at publicURL: Origin?,
        known: KnownProviders,
        rules: RuleSets,
        maxStale: Duration,
        _ reading: inout DecodingContext
    ) -> AppSettings? {
        var check = AccessCheck(known: known, rules: rules, app: app)
        let access = check.rule(&reading)
        let denied = check.denied(&reading)
        let draft = app.value
        guard let publicURL, let action = draft.action else { return nil }
        var route = Route(app: app.name, origin: publicURL, path: draft.path?.value ?? "/")
        route.origins = OriginSet(publicURL, hosts: (draft.hosts?.value ?? []).map(\.value))
        route.providers = access.providers
        route.access = access.rule
        route.issuers = Set((app.value.machines?.value.issuers ?? []).map(\.value))
        route.exchangedIssuers = Set((app.value.machines?.value.exchanged ?? []).map(\.value))
        route.serviceTokens = Set((app.value.machines?.value.serviceTokens ?? []).map(\.value))
        route.denied = denied
        route.scopes = (draft.scopes?.value ?? []).map { AppScope(name: $0.name, text: $0.value) }
        route.groups = draft.groups ?? .all
        route.publicRules = draft.publicRules?.map(\.value) ?? []
        var settings = AppSettings(route: route, action: action, headers: draft.identityHeaders)
        settings.certificateHeaders = CertificateHeader.allCases.filter {
            draft.certificateHeaders?.value.contains($0) ?? false
        }
        settings.traffic = draft.trafficSettings
        settings.identity = draft.identity?.settings ?? IdentitySettings()
        let edited = Set(settings.traffic.requestHeaders.remove.map { $0.lowercased() })
        let replaced = settings.identity.replacedNames.filter { !edited.contains($0.lowercased()) }
        settings.traffic.requestHeaders.remove += replaced
        settings.sessionLimits = SessionLimits(idle: draft.idleTimeout?.value, lifetime: draft.lifetime?.value)
        settings.recheck = draft.recheck.map { RecheckPolicy(interval: $0, maxStale: maxStale) }
        settings.takesBasic = draft.machines?.value.basic ?? false
        if let accepts = draft.accepts { settings.accepts = Set(accepts.value.map(\.value)) }
        if draft.isMCP {
            settings.accepts.insert(.token)
            settings.maxMCPBody = draft.mcpMaxBody?.value ?? 1 << 20
        }
        settings.display = draft.display ?? DisplaySettings()
        settings.sendsForwarded = draft.forwarded ?? false
        return settings
    }
}
