#!/usr/bin/env bash
# Runs clang-tidy, as .clang-tidy says, over the sources of the library, the tools and the benchmarks.
#
#   tools/tidy.sh [FILE...]    default: all .cc files of src, transports, tools, benchmarks (many minutes)
#
# Reads the compile commands of the clang preset and configures it if need be; nothing is built.
set -euo pipefail

files=()
for argument in "$@"; do
  case "$argument" in
    -h | --help)
      sed -n '2,6s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) files+=("$(realpath -- "$argument")") ;;
  esac
done

cd "$(dirname "$0")/.."
if ! command -v clang-tidy >/dev/null; then
  echo "tidy: clang-tidy is missing; tools/packages.sh test installs it" >&2
  exit 1
fi
cmake --preset clang >/dev/null

if [ ${#files[@]} -eq 0 ]; then
  # Only files that are compiled here; others (CUDA, RDMA) have no compile command.
  mapfile -t files < <(python3 -c '
import json, os, sys
root = os.getcwd()
rooms = tuple(os.path.join(root, room) + "/" for room in ("src", "transports", "tools", "benchmarks"))
for path in sorted({entry["file"] for entry in json.load(open("build/clang/compile_commands.json"))}):
    if path.startswith(rooms): print(path)')
fi
if [ ${#files[@]} -eq 0 ]; then
  exit 0
fi

printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy -p build/clang --quiet
