#!/usr/bin/env bash
# Builds the Debian packages libepdx0, libepdx-dev and epdx-tools.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'EOF'
usage: scripts/deb.sh [FOLDER]

Builds the Debian packages into FOLDER (build/deb/packages) and prints their
names. Wants what scripts/deps.sh installs.
EOF
}
case ${1:-} in
--help) usage && exit 0 ;;
-*) printf 'deb.sh: no option %s; see --help\n' "$1" >&2 && exit 2 ;;
esac
mkdir -p "${1:-build/deb/packages}"
folder=$(cd "${1:-build/deb/packages}" && pwd)

for tool in cmake ninja dpkg-shlibdeps dpkg-buildflags; do
    if ! command -v "$tool" >/dev/null; then
        printf 'deb.sh: %s is missing; scripts/deps.sh installs it\n' \
            "$tool" >&2
        exit 1
    fi
done

# Debian's own flags, with those that harden.
export DEB_BUILD_MAINT_OPTIONS=hardening=+all
CFLAGS="$(dpkg-buildflags --get CFLAGS) $(dpkg-buildflags --get CPPFLAGS)"
LDFLAGS=$(dpkg-buildflags --get LDFLAGS)
export CFLAGS LDFLAGS
cmake --preset deb --log-level=WARNING >&2
cmake --build --preset deb -- --quiet >&2
rm -f "$folder"/{libepdx,epdx-}*.deb
# Files are as a package's should be, whatever the caller's mask.
(umask 022 && cd build/deb && cpack -B "$folder" >"$folder/cpack.log" 2>&1) || {
    tail -n 20 "$folder/cpack.log" >&2
    exit 1
}
rm -rf "$folder/_CPack_Packages"
ls "$folder"/*.deb
