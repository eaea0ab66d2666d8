// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProxy
internal import GateRedis
internal import GateYAML

/// `sessions.redis` as the file has it.
struct RedisDraft: Sendable {
    var tls: UpstreamTLSDraft?
    var sentinelUser: String?
    var sentinelPassword: Secret?
}

extension Mapping<RedisDraft> {
    /// `sessions.redis`.
    static let redis = Mapping(
        "the settings of Redis",
        path: "sessions.redis",
        summary: "What the URL of a store in Redis cannot express.",
        make: { RedisDraft() },
        keys: [
            Key(
                "tls",
                \.tls,
                Mapping<UpstreamTLSDraft>.redisTLS.shape,
                .init(default: .words("the system's certificates")),
                "The certificates to trust and to present; only with `rediss`."
            ),
            Key(
                "sentinel_user",
                \.sentinelUser,
                .text,
                .init(default: .words("the default user"), example: "gatehouse"),
                "The ACL user at the sentinels; with `sentinel_password`."
            ),
            Key(
                "sentinel_password",
                \.sentinelPassword,
                .secret(atLeast: 1),
                .init(default: .words("none"), example: "${file:/run/secrets/sentinel}"),
                "The password at the sentinels; user and password of the URL are those of the servers with the data."
            ),
        ],
        check: { _, written, reading in
            if let mark = written.keys["sentinel_user"], !written.has("sentinel_password") {
                reading.error("'sentinel_user' needs 'sentinel_password'", at: mark)
            }
        }
    )
}

extension Mapping<UpstreamTLSDraft> {
    /// `sessions.redis.tls`.
    fileprivate static let redisTLS = clientTLS(
        path: "sessions.redis.tls",
        trust: "The PEM file of the only certificates to trust for Redis.",
        name: "the host of each server"
    )
}

extension RedisDraft {
    /// Adds the settings to the store that the file names.
    func apply(to store: inout StoreSettings?, at mark: YAMLMark, _ reading: inout DecodingContext) {
        guard case .redis(var settings)? = store else {
            return reading.error(
                "'redis' has no effect with this 'store'; remove it, or write a URL of Redis",
                at: mark
            )
        }
        if let tls {
            guard settings.isSecure else {
                return reading.error(
                    "'tls' has no effect without TLS; write 'rediss' in 'store', or remove this",
                    at: mark
                )
            }
            settings.tls = tls.settings
        }
        if let sentinelPassword {
            guard case .sentinels = settings.servers else {
                let advice = "write 'redis+sentinel' in 'store', or remove this"
                return reading.error("'sentinel_password' has no effect without sentinels; \(advice)", at: mark)
            }
            settings.sentinelCredentials = .init(user: self.sentinelUser, password: sentinelPassword)
        }
        store = .redis(settings)
    }
}
