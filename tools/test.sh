#!/usr/bin/env bash
# Installs what is missing (Debian, as root), builds everything into build/dev, and runs the tests.
#
#   tools/test.sh [--all] [ARGUMENT...]
#
# Tests with the label "slow" run only with --all. Other arguments go to ctest: -R NAME, -L LABEL, -V, ...
# The exit status and the last lines are those of ctest.
set -euo pipefail
cd "$(dirname "$0")/.."

select=(-LE '^slow$')
packages=test
arguments=()
for argument in "$@"; do
  case "$argument" in
    -h | --help)
      sed -n '2,7s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    --all)
      select=()
      packages=cross
      ;;
    *) arguments+=("$argument") ;;
  esac
done

tools/packages.sh "$packages"

build=build/dev
log=$build/build.log
mkdir -p $build
begin=$SECONDS
echo "test: building everything into $build (several minutes the first time; progress in $log)"
if ! { cmake --preset dev && cmake --build --preset dev; } >$log 2>&1 </dev/null; then
  # Ninja prints what failed where it failed, other jobs may end after it.
  grep -E -A 20 'FAILED:|error:|CMake Error' $log >&2 || tail -n 60 $log >&2
  echo "test: the build failed; the whole output is in $log" >&2
  exit 1
fi
echo "test: built in $((SECONDS - begin)) s"

exec ctest --test-dir $build --output-on-failure --no-tests=error --parallel "$(nproc)" \
  ${select[@]+"${select[@]}"} ${arguments[@]+"${arguments[@]}"}
