// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension HTTPField.Name {
    package static let clearSiteData = HTTPField.Name(literal: "Clear-Site-Data")
    package static let crossOriginOpenerPolicy = HTTPField.Name(literal: "Cross-Origin-Opener-Policy")
    package static let grpcMessage = HTTPField.Name(literal: "grpc-message")
    package static let grpcStatus = HTTPField.Name(literal: "grpc-status")
    package static let referrerPolicy = HTTPField.Name(literal: "Referrer-Policy")
    package static let requestID = HTTPField.Name(literal: "X-Request-Id")
    package static let xFrameOptions = HTTPField.Name(literal: "X-Frame-Options")

    private init(literal name: StaticString) {
        guard let known = HTTPField.Name("\(name)") else { preconditionFailure("\(name) is not a field name") }
        self = known
    }
}
