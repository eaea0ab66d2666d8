// SPDX-License-Identifier: Apache-2.0

package import GateAssertion
package import GateHTTP
package import GateRuntime
internal import HTTPTypes

extension Rendering {
    /// A set of keys.
    ///
    /// RFC 7517 §5.
    package static func keys(_ keys: AssertionKeys) -> Response {
        var fields: HTTPFields = [.contentType: "application/jwk-set+json"]
        fields[.cacheControl] = "public, max-age=60"
        fields[.eTag] = keys.entityTag
        fields[.accessControlAllowOrigin] = "*"
        return Response(200, fields: fields, body: keys.jwks)
    }
}
