#!/bin/sh
# Finds a browser for the tests of report pages, or installs Debian's chromium where that is allowed.
# Without one those tests are skipped; nothing else needs it.

for name in "${THRIFTWOOD_BROWSER:-}" chromium chromium-browser google-chrome; do
    if [ -n "$name" ] && command -v "$name" >/dev/null; then
        exit 0
    fi
done

if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    as_root="none"
fi

if [ "$as_root" != none ] && command -v apt-get >/dev/null; then
    echo "Installing chromium with apt-get, for the tests of report pages."
    export DEBIAN_FRONTEND=noninteractive
    if $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends chromium; then
        exit 0
    fi
fi
echo "No browser found: the tests of report pages in a browser will be skipped. Install chromium to run them."
