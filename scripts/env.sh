# Sourced by every script: settings under which the tools work for root and for a plain user, in any folder.

# The checkout may belong to someone else, and Go would ask git about it.
case " ${GOFLAGS:-} " in
*" -buildvcs="*) ;;
*) export GOFLAGS="${GOFLAGS:+$GOFLAGS }-buildvcs=false" ;;
esac

# Go, npm and Chromium keep caches at home. Some accounts have none they may write to.
if [ ! -w "${HOME:-/nonexistent}" ]; then
  export HOME="$PWD/.out/home"
  mkdir -p "$HOME"
fi

# Debian keeps the server's programs away from PATH.
for bin in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV); do
  if [ -x "$bin/initdb" ]; then PATH="$PATH:$bin"; fi
done
# What install-packages.sh brought because the system's Node is too old.
if [ -x "$PWD/.out/node/node_modules/node/bin/node" ]; then PATH="$PWD/.out/node/node_modules/node/bin:$PATH"; fi
export PATH

# Debian's browser is used; the library must not fetch one of its own.
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1
export npm_config_fund=false npm_config_audit=false npm_config_update_notifier=false
