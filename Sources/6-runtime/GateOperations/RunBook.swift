// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateOpenID

/// The sections of `docs/alerts.md`, which describe what to look at and what to do.
package enum RunBook: String, Sendable, CaseIterable {
    /// Event loops run late or not at all.
    case loopStuck = "GatehouseLoopStuck"
    /// Memory, descriptors or requests are nearly used up.
    case overloaded = "GatehouseOverloaded"
    /// A provider does not respond.
    case providerDown = "GatehouseProviderDown"
    /// A provider is asked only now and then.
    case providerBreakerOpen = "GatehouseProviderBreakerOpen"
    /// Many sign-ins fail.
    case signInFailures = "GatehouseSignInFailures"
    /// The session store does not respond, or its file is damaged.
    case storeUnavailable = "GatehouseStoreUnavailable"
    /// Many requests are rejected.
    case highRejectionRate = "GatehouseHighRejectionRate"
    /// A target of an app gets no requests.
    case upstreamDown = "GatehouseUpstreamDown"
    /// Requests to an app fail.
    case upstreamFailing = "GatehouseUpstreamFailing"
    /// A certificate of a listener expires soon.
    case certificateExpiring = "GatehouseCertificateExpiring"
    /// A certificate of a listener has expired.
    case certificateExpired = "GatehouseCertificateExpired"
    /// A revocation list was not replaced in time.
    case revocationListExpiring = "GatehouseRevocationListExpiring"
    case revocationListExpired = "GatehouseRevocationListExpired"
    /// The pins of a provider's host expire soon.
    case pinsExpiring = "GatehousePinsExpiring"
    /// A provider's host showed none of the pinned keys.
    case pinMismatch = "GatehousePinMismatch"
    /// The last reload failed.
    case reloadFailed = "GatehouseReloadFailed"
    /// Log lines are lost.
    case logLinesDropped = "GatehouseLogLinesDropped"

    /// The section about a failure; nil if none is about it.
    package init?(about reason: Failure.Reason) {
        switch reason {
        case .providerPinMismatch, .providerPinMissing, .upstreamPinMismatch: self = .pinMismatch
        case .providerPinsExpired: self = .pinsExpiring
        case .sessionStoreUnavailable, .sessionStoreFull, .sessionStoreBusy, .sessionStoreFileFailure,
            .sessionStoreDamaged:
            self = .storeUnavailable
        case _ where RelyingParty.isOutage(Failure(reason, "")): self = .providerDown
        default:
            switch reason.entry.kind {
            case .providerFailed: self = .signInFailures
            case .upstreamFailed, .upstreamTimedOut: self = .upstreamFailing
            case .overloaded: self = .overloaded
            default: return nil
            }
        }
    }
}
