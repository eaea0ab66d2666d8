// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// Whether the target for `make fuzz` is built, and all others so that a fuzzer sees what they do.
let isFuzzed = Context.environment["GATEHOUSE_FUZZ"] != nil

/// The settings of every Swift target, `Tests` included.
let commonSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    // Small functions of one module are called for each request by another: let the compiler inline them.
    .unsafeFlags(
        ["-cross-module-optimization", "-Xfrontend", "-enable-cmo-everything", "-enforce-exclusivity=unchecked"],
        .when(configuration: .release)
    ),
]

let settings = commonSettings + (isFuzzed ? [.unsafeFlags(["-O", "-sanitize=address,fuzzer"])] : [])

/// Products of other packages, by the name used in the table below.
let products: [String: Target.Dependency] = [
    "ArgumentParser": .product(name: "ArgumentParser", package: "swift-argument-parser"),
    "Crypto": .product(name: "Crypto", package: "swift-crypto"),
    "CryptoExtras": .product(name: "CryptoExtras", package: "swift-crypto"),
    "GRDB": .product(name: "GRDB", package: "GRDB.swift"),
    "HTTPTypes": .product(name: "HTTPTypes", package: "swift-http-types"),
    "Logging": .product(name: "Logging", package: "swift-log"),
    "Metrics": .product(name: "Metrics", package: "swift-metrics"),
    "CoreMetrics": .product(name: "CoreMetrics", package: "swift-metrics"),
    "Mustache": .product(name: "Mustache", package: "swift-mustache"),
    "NIOCore": .product(name: "NIOCore", package: "swift-nio"),
    "NIOEmbedded": .product(name: "NIOEmbedded", package: "swift-nio"),
    "NIOHTTP1": .product(name: "NIOHTTP1", package: "swift-nio"),
    "NIOPosix": .product(name: "NIOPosix", package: "swift-nio"),
    "NIOTLS": .product(name: "NIOTLS", package: "swift-nio"),
    "NIOSSL": .product(name: "NIOSSL", package: "swift-nio-ssl"),
    "UnixSignals": .product(name: "UnixSignals", package: "swift-service-lifecycle"),
    "SwiftASN1": .product(name: "SwiftASN1", package: "swift-asn1"),
    "X509": .product(name: "X509", package: "swift-certificates"),
]

/// A module of the graph and all that it may import.
typealias Module = (target: String, imports: [String])

/// The layers, lowest first: each is a folder of `Sources`, and its modules import those of their own layer, above them in this
/// table, and of lower layers only.
///
/// This is the only source of the module graph: SwiftPM builds from it and `make check` compares every `import` with it.
let layers: [(folder: String, modules: [Module])] = [
    (
        "1-core",
        [
            ("GateCore", ["CZlib", "Crypto"])
        ]
    ),
    (
        "2-wire",
        [
            ("GateWire", ["GateCore", "Crypto", "NIOCore"]),
            ("GateNet", ["GateWire", "CEventPoll", "CNGHTTP2", "NIOCore"]),
        ]
    ),
    (
        "3-identity",
        [
            ("GatePolicy", ["GateWire", "GateCore"]),
            ("GateClients", ["GatePolicy", "GateCore"]),
            ("GatePages", ["GateCore", "Mustache"]),
            ("GateProviders", ["GateCore"]),
            ("GateOpenID", ["GateProviders", "GateCore", "Crypto", "CryptoExtras"]),
            ("GateSessions", ["GateCore", "Crypto"]),
            ("GatePasskeys", ["GateCore", "Crypto", "CryptoExtras", "SwiftASN1", "X509"]),
            ("GateAccounts", ["GatePasskeys", "GateProviders", "GateSessions", "GateCore", "CArgon2", "Crypto"]),
            ("GateAssertion", ["GateCore", "Crypto"]),
            (
                "GateIssuer",
                [
                    "GateClients", "GateOpenID", "GateProviders", "GateSessions", "GateAssertion", "GateCore",
                    "Crypto",
                ]
            ),
        ]
    ),
    (
        "4-adapters",
        [
            ("GateMail", ["GateCore", "CMail"]),
            (
                "GateHTTP",
                [
                    "GateWire", "GateNet", "GateCore", "CClientCertificates", "CNGHTTP2", "HTTPTypes", "NIOCore",
                    "NIOSSL", "NIOTLS", "SwiftASN1",
                ]
            ),
            ("GateProviderHTTP", ["GateOpenID", "GateCore", "CProviderTransport"]),
            ("GateSessionStores", ["GateSessions", "GateCore", "GRDB"]),
            (
                "GateProxy",
                [
                    "GateWire", "GateNet", "GateCore", "CNGHTTP2", "Crypto", "NIOCore", "NIOSSL", "NIOTLS",
                    "SwiftASN1", "X509",
                ]
            ),
            ("GateRedis", ["GateProxy", "GateSessions", "GateNet", "GateCore", "NIOCore"]),
            ("GateTracing", ["GateWire", "GateCore"]),
        ]
    ),
    (
        "5-configuration",
        [
            ("GateYAML", ["GateCore", "CLibYAML", "NIOCore"]),
            (
                "GateConfiguration",
                [
                    "GateYAML", "GateProviders", "GateCore", "GateProxy", "GateClients", "GateSessions", "GatePolicy",
                    "GateWire", "NIOCore", "GateRedis", "GateHTTP", "GatePasskeys", "GatePages", "GateMail",
                ]
            ),
        ]
    ),
    (
        "6-runtime",
        [
            (
                "GateOperations",
                [
                    "GateConfiguration", "GateTracing", "GateProviderHTTP", "GateOpenID", "GateSessions", "GateHTTP",
                    "GateProviders", "GatePolicy", "GateWire", "GateNet", "GateCore", "HTTPTypes", "Logging",
                    "Metrics", "CoreMetrics", "NIOCore", "GatePages",
                ]
            ),
            (
                "GateHeaders",
                [
                    "GateConfiguration", "GateProxy", "GateSessions", "GateAssertion", "GateHTTP", "GatePolicy",
                    "GateWire", "GateCore", "HTTPTypes", "NIOCore",
                ]
            ),
            (
                "GateRuntime",
                [
                    "GateOperations", "GateTracing", "GateHeaders", "GateConfiguration", "GateProxy", "GateIssuer",
                    "GateClients", "GateAccounts", "GateOpenID", "GateMail", "GateSessions", "GateAssertion",
                    "GateHTTP", "GateProviders", "GatePages", "GatePolicy", "GateWire", "GateNet", "GateCore",
                    "HTTPTypes", "Metrics", "NIOCore",
                ]
            ),
        ]
    ),
    (
        "7-requests",
        [
            (
                "GateEndpoints",
                [
                    "GateRuntime", "GateOperations", "GateHeaders", "GateConfiguration", "GateIssuer", "GateClients",
                    "GateSessions", "GateAssertion", "GateHTTP", "GatePages", "GatePolicy", "GateWire", "GateCore",
                    "HTTPTypes", "GateAccounts", "GatePasskeys", "GateOpenID", "GateProviders",
                ]
            ),
            (
                "GateIngress",
                [
                    "GateEndpoints", "GateRuntime", "GateOperations", "GateHeaders", "GateConfiguration",
                    "GateTracing", "GateProxy", "GateIssuer", "GateClients", "GateOpenID", "GateSessions",
                    "GateAssertion", "GateHTTP", "GateProviders", "GatePages", "GatePolicy", "GateWire", "GateNet",
                    "GateCore", "HTTPTypes", "NIOCore",
                ]
            ),
        ]
    ),
    (
        "8-process",
        [
            (
                "GateDiagnostics",
                [
                    "GateOperations", "GateConfiguration", "GateAssertion", "GateRedis", "GateProxy",
                    "GateProviderHTTP", "GateAccounts", "GateMail", "GateOpenID", "GateHTTP", "GateClients",
                    "GateProviders", "GatePages", "GatePolicy", "GateYAML", "GateWire", "GateNet", "GateCore",
                    "Crypto", "HTTPTypes", "NIOCore",
                ]
            ),
            (
                "GateServer",
                [
                    "GateConfiguration", "GateNet", "GateCore", "NIOCore", "GateIngress", "GateRuntime",
                    "GateOperations", "GateTracing", "GateProviderHTTP", "GateSessionStores", "GateRedis",
                    "GateIssuer", "GateClients", "GateAccounts", "GatePasskeys", "GateMail", "GateProxy", "GateOpenID",
                    "GateSessions", "GateAssertion", "GateHTTP", "GateProviders", "GatePages", "GatePolicy",
                    "GateYAML", "GateWire", "HTTPTypes", "Logging", "Metrics", "UnixSignals",
                ]
            ),
        ]
    ),
    (
        "9-programs",
        [
            ("GateImport", ["GateConfiguration", "GateYAML", "GateCore"]),
            (
                "GateCommandLine",
                [
                    "GateServer", "GateOperations", "GateConfiguration", "GateYAML", "GateCore", "ArgumentParser",
                    "Logging",
                ]
            ),
            (
                "GateDemo",
                [
                    "GateCore", "Crypto", "CryptoExtras", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "SwiftASN1",
                    "X509",
                ]
            ),
            (
                "gatehouse",
                [
                    "GatePages", "GateCommandLine", "GateImport", "GateServer", "GateDiagnostics", "GateOperations",
                    "GateConfiguration", "GateHTTP", "GateClients", "GateOpenID", "GateProviders", "GatePolicy",
                    "GateCore", "ArgumentParser", "Logging",
                ]
            ),
            (
                "gatehouse-demo",
                [
                    "GateCommandLine", "GateServer", "GateOperations", "GateDemo", "GateConfiguration", "GateCore",
                    "ArgumentParser", "Crypto", "Logging", "NIOCore", "NIOHTTP1", "NIOPosix",
                ]
            ),
        ]
    ),
]

/// What tests share, below `Tests`; part of no product.
let testSupport: [Module] = [
    ("GateTestSupport", ["GateProviderHTTP", "GateOpenID", "GateProviders", "GateCore", "Crypto", "Logging"]),
    (
        "GateFixtures",
        [
            "GateEndpoints", "GateRuntime", "GateOperations", "GateHeaders", "GateConfiguration", "GateIssuer",
            "GateClients", "GateAccounts", "GatePasskeys", "GateOpenID", "GateMail", "GateSessionStores",
            "GateSessions", "GateAssertion", "GateHTTP", "GateProviderHTTP", "GateProxy", "GateProviders",
            "GatePolicy", "GateWire", "GateCore", "GateTestSupport", "Crypto", "HTTPTypes", "Logging", "NIOCore",
        ]
    ),
    (
        "GateFuzz",
        [
            "GateRedis", "GateAccounts", "GateSessions", "GatePasskeys", "GateProxy", "GateHTTP", "GateWire",
            "GateNet", "GateCore", "NIOCore", "NIOEmbedded",
        ]
    ),
]

let systemLibraries: [Target] = [
    .systemLibrary(
        name: "CArgon2",
        path: "Sources/0-c/CArgon2",
        pkgConfig: "libargon2",
        providers: [.apt(["libargon2-dev"])]
    ),
    .target(
        name: "CClientCertificates",
        path: "Sources/0-c/CClientCertificates",
        linkerSettings: [.linkedLibrary("crypto")]
    ),
    .systemLibrary(name: "CEventPoll", path: "Sources/0-c/CEventPoll"),
    .target(name: "CMail", path: "Sources/0-c/CMail", linkerSettings: [.linkedLibrary("curl")]),
    .systemLibrary(
        name: "CLibYAML",
        path: "Sources/0-c/CLibYAML",
        pkgConfig: "yaml-0.1",
        providers: [.apt(["libyaml-dev"])]
    ),
    .systemLibrary(name: "CZlib", path: "Sources/0-c/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(
        name: "CNGHTTP2",
        path: "Sources/0-c/CNGHTTP2",
        pkgConfig: "libnghttp2",
        providers: [.apt(["libnghttp2-dev"])]
    ),
    .target(
        name: "CProviderTransport",
        path: "Sources/0-c/CProviderTransport",
        linkerSettings: [.linkedLibrary("curl"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]
    ),
]

/// The targets that are programs.
let programs: Set<String> = ["gatehouse", "gatehouse-demo"]

/// The targets of some modules, each in the folder of its name below another one.
func targets(_ modules: [Module], in folder: String) -> [Target] {
    modules.map { module in
        let dependencies = module.imports.map { products[$0] ?? .byName(name: $0) }
        let path = "\(folder)/\(module.target)"
        guard programs.contains(module.target) else {
            return .target(name: module.target, dependencies: dependencies, path: path, swiftSettings: settings)
        }
        return .executableTarget(
            name: module.target,
            dependencies: dependencies,
            path: path,
            swiftSettings: settings,
            plugins: module.target == "gatehouse" ? ["BuildInfo"] : []
        )
    }
}

let modules =
    layers.flatMap { targets($0.modules, in: "Sources/\($0.folder)") } + targets(testSupport, in: "Tests")

/// What the unit tests of a target may import beside the target and all that it may import itself.
let testImports: [String: [String]] = [
    "GateCore": ["GateTestSupport"],
    "GatePolicy": ["NIOCore"],
    "GateAccounts": ["GateFixtures", "GateSessionStores", "GateTestSupport"],
    "GateAssertion": ["GateTestSupport"],
    "GateSessions": ["GateTestSupport"],
    "GateSessionStores": ["GateFixtures", "GateProxy", "GateRedis", "GateServer", "GateTestSupport"],
    "GateIssuer": ["GatePolicy", "GateSessionStores", "GateTestSupport"],
    "GateRedis": ["GateSessionStores", "GateTestSupport", "NIOEmbedded", "NIOPosix"],
    "GateHTTP": ["Crypto", "GateTestSupport", "NIOEmbedded", "X509"],
    "GateProviderHTTP": ["GateTestSupport"],
    "GateMail": ["GateTestSupport"],
    "GatePasskeys": ["GateTestSupport"],
    "GateFuzz": ["GateTestSupport"],
    "GateProxy": ["NIOEmbedded", "NIOPosix"],
    "GateEndpoints": ["GateFixtures", "GateTestSupport"],
    "GateIngress": [
        "Crypto", "GateFixtures", "GateProviderHTTP", "GateSessionStores", "GateTestSupport",
        "Logging", "NIOEmbedded",
    ],
    "GateRuntime": ["GateTestSupport"],
    "GateOperations": ["GateTestSupport"],
    "GateDiagnostics": ["GateTestSupport"],
    "GateImport": ["GatePolicy", "GateSessions", "GateTestSupport"],
    "GateHeaders": ["GateTestSupport"],
    "GateOpenID": ["GateTestSupport"],
    "GateYAML": ["GateTestSupport"],
    "GateServer": ["GateFixtures", "GateTestSupport", "NIOEmbedded"],
    "GateNet": ["NIOEmbedded"],
    "GateTracing": ["NIOCore"],
]

/// The targets without unit tests; those of `GateConfiguration` read whole files, the sections of providers included.
let untested: Set<String> = [
    "gatehouse-demo", "GateCommandLine", "GateDemo", "GateFixtures", "GateTestSupport",
]
/// A target's unit tests may import the target, all that it may import itself and what the table above adds.
let tests: [Target] = (layers.flatMap(\.modules) + testSupport).filter { !untested.contains($0.target) }.map { module in
    let dependencies = ([module.target] + module.imports + (testImports[module.target] ?? [])).map {
        products[$0] ?? .byName(name: $0)
    }
    return .testTarget(name: module.target + "Tests", dependencies: dependencies, swiftSettings: settings)
}

/// Drives libFuzzer, which the toolchain has for Linux only as a library beside those of the compiler.
let fuzzDriver: [Target] = [
    .systemLibrary(name: "CFuzzDriver", path: "Tests/CFuzzDriver"),
    .executableTarget(
        name: "FuzzDriver",
        dependencies: ["GateFuzz", "CFuzzDriver"],
        path: "Tests/FuzzDriver",
        swiftSettings: settings,
        linkerSettings: [
            .linkedLibrary("stdc++"),
            .unsafeFlags(["-sanitize=address", "-Xlinker", Context.environment["GATEHOUSE_FUZZ"] ?? ""]),
        ]
    ),
]

let package = Package(
    name: "gatehouse",
    products: programs.sorted().map { .executable(name: $0, targets: [$0]) },
    // Exact, so that every build has the versions that were tested.
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", exact: "2.1.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: [.plugin(name: "BuildInfo", capability: .buildTool())] + systemLibraries + modules + tests
        + (isFuzzed ? fuzzDriver : [])
)
