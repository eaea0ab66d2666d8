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

/// The module graph: each module and all that it may import, lowest layer first.
///
/// This is its only source: SwiftPM builds from it and `make check` compares every `import` with it.
let moduleGraph: [(target: String, imports: [String])] = [
    ("GateCore", ["CZlib", "Crypto"]),
    ("GateMail", ["GateCore", "CMail"]),
    ("GateWire", ["GateCore", "Crypto", "NIOCore"]),
    ("GateNet", ["GateWire", "CEventPoll", "CNGHTTP2", "NIOCore"]),
    ("GateYAML", ["GateCore", "CLibYAML", "NIOCore"]),
    ("GatePolicy", ["GateWire", "GateCore"]),
    ("GateClients", ["GatePolicy", "GateCore"]),
    ("GatePages", ["GateCore", "Mustache"]),
    ("GateProviders", ["GateCore"]),
    ("GateOpenID", ["GateProviders", "GateCore", "Crypto", "CryptoExtras"]),
    ("GateSessions", ["GateCore", "Crypto"]),
    ("GatePasskeys", ["GateCore", "Crypto", "CryptoExtras", "SwiftASN1", "X509"]),
    (
        "GateAccounts", ["GatePasskeys", "GateProviders", "GateSessions", "GateCore", "CArgon2", "Crypto"]
    ),
    ("GateAssertion", ["GateCore", "Crypto"]),
    (
        "GateIssuer",
        ["GateClients", "GateOpenID", "GateProviders", "GateSessions", "GateAssertion", "GateCore", "Crypto"]
    ),
    (
        "GateHTTP",
        [
            "GateWire", "GateNet", "GateCore", "CClientCertificates", "CNGHTTP2", "HTTPTypes", "NIOCore", "NIOSSL",
            "NIOTLS",
            "SwiftASN1",
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
    // These three read the file into the values that the modules before them define.
    ("GateProviderConfiguration", ["GateYAML", "GateProviders", "GateCore"]),
    (
        "GateAppConfiguration",
        [
            "GateProviderConfiguration", "GateYAML", "GateProxy", "GateClients", "GateSessions", "GatePolicy",
            "GateWire",
            "GateCore", "NIOCore",
        ]
    ),
    (
        "GateConfiguration",
        [
            "GateAppConfiguration", "GateProviderConfiguration", "GateYAML", "GateRedis", "GateProxy", "GateHTTP",
            "GateClients", "GateSessions", "GatePasskeys", "GatePages", "GateProviders", "GatePolicy", "GateMail",
            "GateWire", "GateCore", "NIOCore",
        ]
    ),
    (
        "GateOperations",
        [
            "GateConfiguration", "GateAppConfiguration", "GateTracing", "GateProviderHTTP", "GateOpenID",
            "GateSessions",
            "GateHTTP", "GateProviders", "GatePolicy", "GateWire", "GateNet", "GateCore", "HTTPTypes", "Logging",
            "Metrics", "CoreMetrics", "NIOCore",
        ]
    ),
    ("GateStatusPage", ["GateOperations", "GateSessions", "GatePages", "GateCore"]),
    (
        "GateDiagnostics",
        [
            "GateOperations", "GateConfiguration", "GateAppConfiguration", "GateProviderConfiguration", "GateAssertion",
            "GateRedis", "GateProxy", "GateProviderHTTP", "GateAccounts", "GateMail",
            "GateOpenID", "GateHTTP", "GateClients", "GateProviders", "GatePages", "GatePolicy", "GateYAML", "GateWire",
            "GateNet", "GateCore", "Crypto", "HTTPTypes", "NIOCore",
        ]
    ),
    ("GateOverload", ["GateConfiguration", "GateNet", "GateCore", "NIOCore"]),
    (
        "GateHeaders",
        [
            "GateAppConfiguration", "GateProxy", "GateSessions", "GateAssertion", "GateHTTP", "GatePolicy", "GateWire",
            "GateCore", "HTTPTypes", "NIOCore",
        ]
    ),
    (
        "GateRuntime",
        [
            "GateOperations", "GateTracing", "GateHeaders", "GateConfiguration", "GateAppConfiguration", "GateProxy",
            "GateIssuer", "GateClients", "GateAccounts", "GateOpenID", "GateMail",
            "GateSessions", "GateAssertion", "GateHTTP", "GateProviders", "GatePages", "GatePolicy", "GateWire",
            "GateNet", "GateCore",
            "HTTPTypes", "Metrics", "NIOCore",
        ]
    ),
    (
        "GateTokenEndpoints",
        [
            "GateRuntime", "GateOperations", "GateHeaders", "GateConfiguration", "GateIssuer", "GateClients",
            "GateSessions", "GateAssertion", "GateHTTP", "GatePages", "GatePolicy", "GateWire",
            "GateCore",
            "HTTPTypes",
        ]
    ),
    (
        "GateEndpoints",
        [
            "GateTokenEndpoints", "GateRuntime", "GateOperations", "GateHeaders", "GateConfiguration",
            "GateAppConfiguration", "GateIssuer",
            "GateClients",
            "GateAccounts", "GatePasskeys", "GateOpenID",
            "GateSessions", "GateAssertion", "GateHTTP", "GateProviders", "GatePages", "GatePolicy", "GateWire",
            "GateCore",
            "HTTPTypes",
        ]
    ),
    // What the unit tests of endpoints and of requests share; part of no product.
    (
        "GateFixtures",
        [
            "GateEndpoints", "GateTokenEndpoints", "GateRuntime", "GateOperations", "GateHeaders", "GateConfiguration",
            "GateAppConfiguration", "GateIssuer", "GateClients", "GateAccounts", "GatePasskeys", "GateOpenID",
            "GateMail",
            "GateSessionStores", "GateSessions", "GateAssertion", "GateHTTP", "GateProviderHTTP", "GateProxy",
            "GateProviders", "GatePolicy", "GateWire", "GateCore", "GateTestSupport", "Crypto", "HTTPTypes", "Logging",
            "NIOCore",
        ]
    ),
    (
        "GateIngress",
        [
            "GateEndpoints", "GateTokenEndpoints", "GateRuntime", "GateOperations", "GateHeaders", "GateConfiguration",
            "GateTracing",
            "GateProxy",
            "GateIssuer", "GateClients", "GateOpenID",
            "GateSessions", "GateAssertion", "GateHTTP", "GateProviders", "GatePages", "GatePolicy", "GateWire",
            "GateNet", "GateCore", "HTTPTypes", "NIOCore",
        ]
    ),
    (
        "GateServer",
        [
            "GateIngress", "GateOverload", "GateRuntime", "GateOperations", "GateConfiguration", "GateAppConfiguration",
            "GateTracing", "GateProviderHTTP", "GateSessionStores", "GateRedis",
            "GateIssuer", "GateClients", "GateAccounts", "GatePasskeys", "GateMail", "GateProxy", "GateOpenID",
            "GateSessions",
            "GateAssertion", "GateHTTP", "GateProviders", "GateStatusPage", "GatePages",
            "GatePolicy", "GateNet", "GateYAML", "GateWire", "GateCore",
            "HTTPTypes", "Logging",
            "Metrics", "NIOCore", "UnixSignals",
        ]
    ),
    // What only `gatehouse import` needs; no module of the server imports it. It stays in the program: it is 0.7 MB of 98, and
    // a program of its own would bring the libraries of Swift and Foundation again, at least 14 MB in each package and image.
    ("GateImport", ["GateAppConfiguration", "GateProviderConfiguration", "GateYAML", "GateCore"]),
    (
        "GateCommandLine",
        ["GateServer", "GateOperations", "GateConfiguration", "GateYAML", "GateCore", "ArgumentParser", "Logging"]
    ),
    (
        "GateDemo",
        [
            "GateCore", "Crypto", "CryptoExtras", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "SwiftASN1", "X509",
        ]
    ),
    // What several unit tests share; part of no product.
    ("GateTestSupport", ["GateProviderHTTP", "GateOpenID", "GateProviders", "GateCore", "Crypto", "Logging"]),
    // What fuzzing and its replay in the unit tests share; part of no product.
    (
        "GateFuzz",
        [
            "GateRedis", "GateAccounts", "GateSessions", "GatePasskeys", "GateProxy", "GateHTTP", "GateWire", "GateNet",
            "GateCore", "NIOCore", "NIOEmbedded",
        ]
    ),
    (
        "gatehouse",
        [
            "GatePages",
            "GateCommandLine", "GateImport", "GateServer", "GateDiagnostics", "GateOperations", "GateConfiguration",
            "GateAppConfiguration", "GateHTTP", "GateClients", "GateOpenID", "GateProviders", "GatePolicy", "GateCore",
            "ArgumentParser", "Logging",
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

let systemLibraries: [Target] = [
    .systemLibrary(name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
    .target(name: "CClientCertificates", linkerSettings: [.linkedLibrary("crypto")]),
    .systemLibrary(name: "CEventPoll"),
    .target(name: "CMail", linkerSettings: [.linkedLibrary("curl")]),
    .systemLibrary(name: "CLibYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
    .target(
        name: "CProviderTransport",
        linkerSettings: [.linkedLibrary("curl"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]
    ),
]

/// The modules that only tests use.
let testSupport: Set<String> = ["GateFixtures", "GateFuzz", "GateTestSupport"]

/// The targets that are programs.
let programs: Set<String> = ["gatehouse", "gatehouse-demo"]

let modules: [Target] = moduleGraph.map { module in
    let dependencies = module.imports.map { products[$0] ?? .byName(name: $0) }
    guard programs.contains(module.target) else {
        let path = testSupport.contains(module.target) ? "Tests/\(module.target)" : nil
        return .target(name: module.target, dependencies: dependencies, path: path, swiftSettings: settings)
    }
    return .executableTarget(
        name: module.target,
        dependencies: dependencies,
        swiftSettings: settings,
        plugins: module.target == "gatehouse" ? ["BuildInfo"] : []
    )
}

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
    "GateTokenEndpoints": ["GateAppConfiguration", "GateFixtures", "GateProviders", "GateTestSupport"],
    "GateEndpoints": ["GateFixtures", "GateTestSupport"],
    "GateIngress": [
        "Crypto", "GateAppConfiguration", "GateFixtures", "GateProviderHTTP", "GateSessionStores", "GateTestSupport",
        "Logging", "NIOEmbedded",
    ],
    "GateRuntime": ["GateTestSupport"],
    "GateOperations": ["GateTestSupport"],
    "GateDiagnostics": ["GateTestSupport"],
    "GateImport": ["GateConfiguration", "GatePolicy", "GateSessions", "GateTestSupport"],
    "GateHeaders": ["GateTestSupport"],
    "GateOpenID": ["GateTestSupport"],
    "GateOverload": ["GateTestSupport"],
    "GateYAML": ["GateTestSupport"],
    "GateServer": ["GateFixtures", "GateTestSupport", "NIOEmbedded"],
    "GateNet": ["NIOEmbedded"],
    "GateTracing": ["NIOCore"],
]

/// The targets without unit tests; those of `GateConfiguration` read whole files, the sections of providers included.
let untested: Set<String> = [
    "gatehouse-demo", "GateCommandLine", "GateDemo", "GateFixtures", "GateProviderConfiguration", "GateTestSupport",
]
/// A target's unit tests may import the target, all that it may import itself and what the table above adds.
let tests: [Target] = moduleGraph.filter { !untested.contains($0.target) }.map { module in
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
