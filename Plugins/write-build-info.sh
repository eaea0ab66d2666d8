#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# write-build-info.sh PACKAGE OUTPUT: writes OUTPUT/BuildInfo.swift from the git clone or tarball in PACKAGE.
set -eu
package=${1%/}
file=${2%/}/BuildInfo.swift

# `git archive`, which makes tarballs, replaces this: see .gitattributes.
archived='$Format:%H$'
commit=unknown
if [ -e "$package/.git" ]; then
    commit=$(git -C "$package" rev-parse HEAD 2>/dev/null) || commit=unknown
elif [ "${archived#\$}" = "$archived" ]; then
    commit=$archived
fi

version=$(sh "$package/Plugins/version.sh" "$package")

# The pins of Package.resolved: "identity" comes before "version" in each.
packages=$(sed -n \
    -e 's/^ *"identity" : "\([a-z0-9.-]*\)",*$/        "\1": /p' \
    -e 's/^ *"version" : "\([A-Za-z0-9.+-]*\)"$/"\1",/p' \
    "$package/Package.resolved" 2>/dev/null | paste -s -d '\0\n' -) || packages=

cat > "$file.new" <<END
// Written by Plugins/write-build-info.sh.

/// What this program was built from.
enum BuildInfo {
    /// The semantic version, from the tags of git.
    static let version = "$version"
    /// The commit, or "unknown".
    static let commit = "$commit"
    /// The versions of the Swift packages, by name.
    static let packages: [String: String] = [
${packages:-        :}
    ]
}
END
# A file that did not change keeps its time, so that nothing is compiled again.
if cmp -s "$file.new" "$file"; then rm "$file.new"; else mv "$file.new" "$file"; fi
