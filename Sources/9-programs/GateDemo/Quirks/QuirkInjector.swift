// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Adds the quirks of all providers to a simulator.
///
/// It changes requests and responses of the simulator. These quirks are violations of the specifications, so the
/// gateway must reject them.
struct QuirkInjector: Sendable {
    static let quirks =
        CallbackQuirk.all.map(\.quirk) + TokenQuirk.all.map(\.quirk) + DocumentQuirk.all.map(\.quirk)
        + EndpointQuirk.quirks

    private let simulator: ProviderSimulator
    private let context: SimulatorContext
    private let counts = ResponseCounts()

    /// How many tokens and key sets the provider has sent.
    private final class ResponseCounts: Sendable {
        let tokens = Mutex(0)
        let keySets = Mutex(0)

        static func next(_ count: borrowing Mutex<Int>) -> Int {
            count.withLock { count in
                count &+= 1
                return count
            }
        }
    }

    init(_ simulator: ProviderSimulator, context: SimulatorContext) {
        self.simulator = simulator
        self.context = context
    }

    func page(for request: DemoRequest) -> DemoResponse? { self.simulator.page(for: request) }

    /// Delays the response of a slow endpoint.
    func delay(before request: DemoRequest) async {
        guard self.has(EndpointQuirk.tokenSlow), Self.redeemsCode(request) else { return }
        try? await Task.sleep(for: .seconds(30))
    }

    func response(to request: DemoRequest) -> DemoResponse {
        if Self.redeemsCode(request) { return self.token(request) }
        if request.path.contains("/.well-known/"), self.has(EndpointQuirk.discoveryDown) { return Self.breakdown }
        let response = self.simulator.response(to: request)
        guard response.status == 200, var document = self.document(response)?.object else { return response }
        if document["keys"] != nil, self.has(EndpointQuirk.keysDownLater), ResponseCounts.next(self.counts.keySets) > 1
        {
            return Self.breakdown
        }
        let quirks = DocumentQuirk.all.filter { self.has($0.quirk) && document[$0.member] != nil }
        for quirk in quirks { quirk.change(&document, self.context) }
        return quirks.isEmpty ? response : self.response(with: .object(document), like: response)
    }

    private func has(_ quirk: DemoQuirk) -> Bool { self.context.has(quirk) }

    private static func redeemsCode(_ request: DemoRequest) -> Bool {
        request.method == "POST" && request.form["grant_type"] == "authorization_code"
    }

    private static let breakdown = DemoResponse(
        status: 500,
        fields: [("Content-Type", "text/html")],
        body: Array("<h1>Internal Server Error</h1>\n".utf8),
    )

    // MARK: token endpoint

    private func token(_ request: DemoRequest) -> DemoResponse {
        guard !self.has(EndpointQuirk.tokenDown) else { return Self.breakdown }
        guard !self.has(EndpointQuirk.tokenRedirects) else {
            return DemoResponse(status: 307, fields: [("Location", "\(self.context.urls.other)/elsewhere")])
        }
        let response = self.simulator.response(
            to: self.has(EndpointQuirk.otherVerifier) ? Self.stolen(request) : request
        )
        guard var document = self.document(response)?.object,
            var token = document["id_token"]?.string.flatMap({ DemoToken($0) })
        else { return response }
        var isChanged = false
        for quirk in TokenQuirk.all where self.has(quirk.quirk) {
            quirk.change(&token, self.context)
            isChanged = true
        }
        if self.has(EndpointQuirk.keysDownLater), ResponseCounts.next(self.counts.tokens).isMultiple(of: 2) {
            token.header["kid"] = .string(self.context.random.token(12))
            isChanged = true
        }
        guard isChanged, let text = try? token.text(signedBy: self.context.key) else { return response }
        document["id_token"] = .string(text)
        return self.response(with: .object(document), like: response)
    }

    /// The request with a verifier of another attempt.
    private static func stolen(_ request: DemoRequest) -> DemoRequest {
        let fields = request.form.fields.map { field in
            field.name == "code_verifier" ? Form.Field(field.name, String(repeating: "x", count: 43)) : field
        }
        var other = DemoRequest(
            method: request.method,
            target: request.target,
            fields: request.fields,
            body: Array(Form(fields).encoded.utf8),
        )
        other.certificate = request.certificate
        return other
    }

    // MARK: documents

    private func document(_ response: DemoResponse) -> JSON? {
        guard !self.context.quirks.names.isEmpty else { return nil }
        return try? JSON(parsing: response.body)
    }

    private func response(with document: JSON, like response: DemoResponse) -> DemoResponse {
        DemoResponse(status: response.status, fields: response.fields, body: document.encoded)
    }
}
