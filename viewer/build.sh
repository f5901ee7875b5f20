#!/bin/sh
# Builds the page of `ray-gym view` into the package. Takes the Node of the system, or, where there is none that Vite
# runs on, the one that pip's package $2 brings into the venv whose scripts are in the folder $1.
set -eu
bin=$1 wheel=$2
cd "$(dirname "$0")"

node_runs() {
  npm --version >/dev/null 2>&1 && node -e '
    const [major, minor] = process.versions.node.split(".").map(Number);
    process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1);' 2>/dev/null
}

if ! node_runs; then
  PATH=$bin:$PATH
  hash -r
  if ! node_runs; then
    [ -x "$bin/python" ] || { echo "viewer: there is no Node 20.19 or later here, and no venv for pip's: make setup" >&2; exit 1; }
    "$bin/python" -m pip install --quiet "$wheel"
  fi
fi
npm ci --silent --ignore-scripts
npm run --silent build
