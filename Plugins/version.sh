#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# version.sh FOLDER: prints the semantic version (semver.org) of the git clone or tarball in FOLDER.
#
#   0.2.0                  the commit with the tag v0.2.0
#   0.2.1-dev.5+0123456789ab   five commits later: a pre-release of the next version
#   0.2.0-rc.1.5+…         five commits after the tag v0.2.0-rc.1
#   0.1.0-dev.489+…        before the first tag; 0.1.0-dev without any history
set -eu
folder=${1%/}

# `git archive`, which makes tarballs, replaces these: see .gitattributes.
described='$Format:%(describe:tags=true,abbrev=12,match=v[0-9]*.[0-9]*.[0-9]*)$'
commit='$Format:%H$'
commits=
if [ -e "$folder/.git" ]; then
    described=$(git -C "$folder" describe --tags --abbrev=12 --match 'v[0-9]*.[0-9]*.[0-9]*' 2>/dev/null) || described=
    commit=$(git -C "$folder" rev-parse HEAD 2>/dev/null) || commit=
    commits=.$(git -C "$folder" rev-list --count HEAD 2>/dev/null) || commits=
elif [ "${commit#\$}" != "$commit" ]; then
    described=
    commit=
fi

tag=$(expr "$described" : 'v\([0-9][0-9]*\.[0-9][0-9]*\.[0-9][0-9]*\(-[0-9A-Za-z.]*\)\{0,1\}\)$') || tag=
if [ -n "$tag" ]; then
    echo "$tag"
    exit
fi
after=$(printf '%s\n' "$described" | sed -n 's/^v\([0-9A-Za-z.-]*\)-\([0-9]*\)-g\([0-9a-f]*\)$/\1 \2 \3/p')
if [ -z "$after" ]; then
    short=$(printf '%.12s' "$commit")
    echo "0.1.0-dev$commits${short:+"+$short"}"
    exit
fi
set -- $after
case $1 in
    *-*) echo "$1.$2+$3" ;;
    *) echo "${1%.*}.$((${1##*.} + 1))-dev.$2+$3" ;;
esac
