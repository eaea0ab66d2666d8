// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateWire
internal import HTTPTypes
internal import NIOCore

// What is answered to those who may enter a route, before or instead of forwarding.
extension GatewayResponder {
    /// Answers a request that is not to be forwarded, because the route says so or because its body is too long.
    ///
    /// - Returns: Whether it was answered.
    func answersDirectly(_ request: RequestHead, on route: RuntimeRoute, isOpen: Bool) -> Bool {
        if let direct = route.directAnswer {
            let answer = direct.answer(to: request, isOpen: isOpen)
            self.answer(answer, on: route)
            return true
        }
        guard case .length(let length) = request.framing, length > route.mostBody else { return false }
        self.answer(self.site.rendering.answer(to: route.bodyTooLarge, for: self.visitor), on: route)
        return true
    }

    /// Sends an answer of our own that counts as one of the route.
    private func answer(_ answer: Response, on route: RuntimeRoute) {
        let spent = (NIODeadline.now() - self.began).nanoseconds
        route.metrics.answered(answer.head.status.code, nanoseconds: spent)
        self.answer(answer)
    }
}
