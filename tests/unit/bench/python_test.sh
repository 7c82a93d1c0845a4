#!/usr/bin/env bash
# python_test.sh FILE [ARGS...]: runs a file of test cases. Skipped (exit code 77) without Python.
set -euo pipefail
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
    echo "skipped: needs python3, 3.8 or newer"
    exit 77
fi
cd "$(dirname "$1")"
PYTHONDONTWRITEBYTECODE=1 exec python3 "$(basename "$1")" "${@:2}"
