#!/usr/bin/env bash
# For maintainers: do the commands of the README work on a bare Debian 12? Makes one with debootstrap from this machine's
# own apt source, clones the committed HEAD into it, and runs the commands there as root. Removes it at the end.
#
#   tools/bare_debian.sh [COMMAND...]    default: tools/quickstart.sh tools/test.sh
#
# Each argument is one shell command, run in the clone. Needs root and debootstrap, and about 5 GB under TMPDIR.
# All mounts are made in a mount namespace of their own, so that they end with it, however this script ends.
set -euo pipefail

suite=bookworm
source_tree=$(cd "$(dirname "$0")/.." && pwd)

# ---- Second part: in new mount and process namespaces, with the new Debian as argument ------------------------------

enter() {
  local root=$1
  shift
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs sysfs "$root/sys"
  mount -t tmpfs -o mode=755 dev "$root/dev"
  mkdir "$root/dev/pts" "$root/dev/shm"
  mknod -m 666 "$root/dev/null" c 1 3
  mknod -m 666 "$root/dev/zero" c 1 5
  mknod -m 666 "$root/dev/full" c 1 7
  mknod -m 666 "$root/dev/random" c 1 8
  mknod -m 666 "$root/dev/urandom" c 1 9
  mknod -m 666 "$root/dev/tty" c 5 0
  ln -s /proc/self/fd "$root/dev/fd"
  mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
  ln -s pts/ptmx "$root/dev/ptmx"
  mount -t tmpfs -o mode=1777 shm "$root/dev/shm"

  local environment=(HOME=/root TERM="${TERM:-dumb}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
  local name
  for name in http_proxy https_proxy no_proxy; do
    if [ -n "${!name:-}" ]; then environment+=("$name=${!name}"); fi
  done

  # pivot_root rather than chroot alone: the old tree is out of reach afterwards, and user namespaces work inside.
  cd "$root"
  mkdir -p old
  pivot_root . old
  exec chroot . env -i "${environment[@]}" bash -c '
    umount -l /old && rmdir /old && cd /root/ronde || exit 1
    for command in "$@"; do
      echo "=== $command"
      begin=$(date +%s)
      if bash -c "$command" </dev/null; then result=ok; else result="FAILED (exit $?)"; fi
      echo "=== $command: $result after $(($(date +%s) - begin)) s"
      [ "$result" = ok ] || exit 1
    done' bash "$@"
}

if [ "${1:-}" = --enter ]; then
  shift
  enter "$@"
fi

# ---- First part ------------------------------------------------------------------------------------------------------

case "${1:-}" in
  -h | --help)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
if [ $# -eq 0 ]; then
  set -- tools/quickstart.sh tools/test.sh
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "bare_debian: must run as root" >&2
  exit 1
fi
if ! command -v debootstrap >/dev/null; then
  echo "bare_debian: debootstrap is missing: apt-get install debootstrap" >&2
  exit 1
fi

# "URI release component" of each Debian index that this machine's apt knows.
indexes=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
  awk -v suite="$suite" '$4 == "Debian" && index($2, suite) == 1 && $3 == "main" { print $1, $2, $3 }' | sort -u)
uri=$(awk -v suite="$suite" '$2 == suite { print $1; exit }' <<<"$indexes")
if [ -z "$uri" ]; then
  echo "bare_debian: apt knows no source of Debian $suite; run apt-get update first" >&2
  exit 1
fi

root=$(mktemp -d "${TMPDIR:-/tmp}/ronde-bare.XXXXXX")
chmod 755 "$root"
remove() {
  rm -f "$root.log"
  if grep -qF " $root" /proc/self/mounts; then
    echo "bare_debian: something is still mounted below $root; it is left in place" >&2
    return
  fi
  rm -rf --one-file-system "$root"
}
trap remove EXIT
trap 'exit 130' INT TERM

begin=$(date +%s)
if ! unshare --mount --propagation private debootstrap --variant=minbase "$suite" "$root" "$uri" \
  >"$root.log" 2>&1 </dev/null; then
  tail -n 30 "$root.log" >&2
  echo "bare_debian: debootstrap failed; the end of its output is above" >&2
  exit 1
fi

# apt inside reaches the same place in the same way: sources, proxy, passwords, certificates.
sed 's/^/deb /' <<<"$indexes" >"$root/etc/apt/sources.list"
apt-config dump Acquire --format '%F "%v";%n' >"$root/etc/apt/apt.conf.d/00bare"
for file in /etc/resolv.conf /etc/hosts /etc/apt/auth.conf /etc/apt/auth.conf.d /etc/ssl/certs/ca-certificates.crt; do
  if [ -e "$file" ]; then
    mkdir -p "$root$(dirname "$file")"
    cp -rL --remove-destination "$file" "$root$(dirname "$file")/"
  fi
done
# No services may start inside.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"

git clone -q --no-local "$source_tree" "$root/root/ronde"
commit=$(git -C "$root/root/ronde" rev-parse --short HEAD)
echo "=== bare Debian $(cat "$root/etc/debian_version") with $(find "$root/var/lib/dpkg/info" -name '*.list' | wc -l)" \
  "packages after $(($(date +%s) - begin)) s; commit $commit"

status=0
unshare --mount --propagation private --pid --fork --kill-child "$0" --enter "$root" "$@" || status=$?
echo "=== size at the end: $(du -sxm "$root" | cut -f1) MB"
exit $status
