#!/usr/bin/env bash
# Installs the Debian packages that the project needs, as far as they are missing. Other systems get the list.
#
#   tools/packages.sh build    what the library, the tools and the benchmarks need
#   tools/packages.sh test     the same, and what the tests and checks need (default)
#   tools/packages.sh cross    the same, and what the test cross_aarch64 needs (tools/test.sh --all)
#
# As root it installs; nothing is fetched when all are there. As another user it prints the command for an administrator
# and returns 1 if something is missing.
set -euo pipefail

build_packages=(
  g++ cmake ninja-build pkg-config python3
  libssl-dev libfmt-dev libhwy-dev libhwloc-dev
  libcli11-dev nlohmann-json3-dev libbenchmark-dev
)
test_packages=(
  catch2 spin
  clang clang-format clang-tidy libclang-rt-dev lld
  git iproute2 procps
)
cross_packages=(
  g++-aarch64-linux-gnu qemu-user  # the compiler brings libc6-dev-arm64-cross along
)

case "${1:-test}" in
  build) wanted=("${build_packages[@]}") ;;
  test) wanted=("${build_packages[@]}" "${test_packages[@]}") ;;
  cross) wanted=("${build_packages[@]}" "${test_packages[@]}" "${cross_packages[@]}") ;;
  *)
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "packages: this is not Debian or a relative of it. Make sure that these packages, or their like, are there:" >&2
  echo "  ${wanted[*]}" >&2
  exit 0
fi

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null || true)
  grep -qx installed <<<"$state" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

if [ "$(id -u)" -ne 0 ]; then
  echo "packages: missing: ${missing[*]}" >&2
  echo "As administrator, run:" >&2
  echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi

echo "packages: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
apt=(apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
if ! { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
  cat "$log" >&2
  echo "packages: apt-get failed; its output is above" >&2
  exit 1
fi
