// SPDX-License-Identifier: Apache-2.0

import Foundation
import PackagePlugin

/// Writes the source file with the commit of the program and the versions of its packages, before each build.
@main
struct BuildInfoPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let package = context.package.directoryURL
        let script = package.appending(path: "Plugins/write-build-info.sh")
        let output = context.pluginWorkDirectoryURL
        return [
            .prebuildCommand(
                displayName: "Write BuildInfo.swift",
                executable: URL(filePath: "/bin/sh"),
                arguments: [script.path(), package.path(), output.path()],
                outputFilesDirectory: output
            )
        ]
    }
}
