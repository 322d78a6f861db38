#!/usr/bin/env bash
# Runs the tests on each given Python that is installed, each in an environment of its own (.venv-python3.13 ...).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=()
for python in "$@"; do
  if ! "$python" -c '' 2>/dev/null; then
    echo "$python is not installed: not tested here"
    continue
  fi
  environment=".venv-$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')"
  echo "== $("$python" --version), in $environment"
  test -x "$environment/bin/python" || "$python" -m venv "$environment"
  install=("$environment/bin/python" -m pip install --quiet --disable-pip-version-check)
  "${install[@]}" --require-hashes --requirement requirements-dev.txt
  "${install[@]}" --no-deps --no-build-isolation --editable . --editable systems
  "$environment/bin/pytest" --numprocesses auto --dist worksteal || failed+=("$python")
done
if test "${#failed[@]}" -gt 0; then
  echo "failed on: ${failed[*]}"
  exit 1
fi
