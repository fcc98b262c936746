#!/usr/bin/env bash
# Formats the C and C++ files of the project with clang-format, as .clang-format says, and finds lines that are too long.
#
#   tools/format.sh [--check] [FILE...]    default: all files; --check changes nothing and fails where it would
#
# The reference is clang-format 14, that of Debian 12: other versions break some lines in other places.
set -euo pipefail

mode=(-i)
files=()
for argument in "$@"; do
  case "$argument" in
    -h | --help)
      sed -n '2,6s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    --check) mode=(--dry-run -Werror) ;;
    *) files+=("$(realpath -- "$argument")") ;;
  esac
done

cd "$(dirname "$0")/.."
formatter=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$formatter" ]; then
  echo "format: clang-format is missing; tools/packages.sh test installs it" >&2
  exit 1
fi
if [ ${#files[@]} -eq 0 ]; then
  while IFS= read -r file; do
    if [ -f "$file" ]; then files+=("$file"); fi
  done < <(git ls-files --cached --others --exclude-standard -- '*.h' '*.hpp' '*.c' '*.cc' '*.cu' '*.cuh' | sort -u)
fi
if [ ${#files[@]} -eq 0 ]; then
  exit 0
fi

if ! found=$("$formatter" "${mode[@]}" "${files[@]}" 2>&1); then
  # Of each place: file and line. The remedy is the same for all.
  grep -E '^[^ ]+:[0-9]+:[0-9]+: ' <<<"$found" | cut -d: -f1,2 | uniq >&2 || echo "$found" >&2
  echo "format: the lines above are not formatted; run tools/format.sh" >&2
  exit 1
fi

# What the formatter leaves as it is: comments, and texts that it cannot break.
if grep -nE '^.{121,}' /dev/null "${files[@]}" | cut -d: -f1,2 >&2; then
  echo "format: the lines above have more than 120 columns; break them" >&2
  exit 1
fi
