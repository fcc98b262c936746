#!/usr/bin/env bash
# From a fresh clone to a first measurement: installs what is missing (Debian, as root), builds the library, the launcher
# and allreduce_perf into build/release, and runs an allreduce of 4 ranks on this machine. Can be run again at any time.
#
#   tools/quickstart.sh [ARGUMENT...]    arguments go to allreduce_perf; default: -b 8 -e 16M -f 8
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = -h ] || [ "${1:-}" = --help ]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0"
  exit 0
fi
if [ $# -eq 0 ]; then
  set -- -b 8 -e 16M -f 8
fi

tools/packages.sh build

build=build/release
log=$build/quickstart.log
mkdir -p $build
begin=$SECONDS
echo "quickstart: building into $build (a few minutes the first time; progress in $log)"
if ! { cmake --preset release && cmake --build --preset release --target ronde ronderun allreduce_perf; } \
  >$log 2>&1 </dev/null; then
  tail -n 60 $log >&2
  echo "quickstart: the build failed; the end of $log is above" >&2
  exit 1
fi
echo "quickstart: built in $((SECONDS - begin)) s"

command=("$build/bin/ronderun" -n 4 "$build/bin/allreduce_perf" "$@")
echo "quickstart: ${command[*]}"
echo
"${command[@]}"

cat <<END

Every row is right where #wrong is 0. Where things are:
  $build/bin/ronderun        starts the ranks of a program on this machine
  $build/bin/allreduce_perf  measures; --help lists its flags
  $build/lib/libronde.so     the library; its C API is include/ronde/ronde.h
  examples/                         a program to start from
Next: tools/test.sh builds and runs the tests; README.md says the rest.
END
