#!/usr/bin/env python3
"""Installs the built tree into a temporary folder and checks what a user gets.

 - Exactly the C API is exported, under the version RONDE_0.
 - The SONAME is libronde.so.0, and only libraries that may be there are needed.
 - examples/ builds against it by find_package and by pkg-config, in C and in C++, without a warning, and runs with one
   rank.
 - Every function has a manual page.
 - The installed programs start.

Nothing is built in the tree itself. Exit code 77: cannot run here, with the reason.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SONAME = "libronde.so.0"
VERSION_NODE = "RONDE_0"
C_FLAGS = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"]
CXX_FLAGS = ["-std=c++20", *C_FLAGS[1:]]
# What libronde.so may need. OpenSSL and Highway are linked; fmt and the C++ runtime's own details stay inside; hwloc,
# the CUDA driver and libibverbs are opened at run time, never linked.
MAY_NEED = r"lib(crypto|hwy|stdc\+\+|m|gcc_s|c|pthread|dl|rt|atomic)\.so(\.\d+)*|ld-linux[-\w]*\.so\.\d+"

failures = []


def check(condition, text):
    print(("ok    " if condition else "FAIL  ") + text)
    if not condition:
        failures.append(text)


def run(*command, **options):
    """Runs a command; returns its output. Ends the test if the command fails."""
    command = [str(word) for word in command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                          timeout=60, **options)
    if done.returncode != 0:
        print(f"FAIL  exit code {done.returncode}: {' '.join(command)}\n{done.stdout}")
        sys.exit(1)
    return done.stdout


def declared_functions(header):
    """The names that the header declares with RONDE_API."""
    return set(re.findall(r"^RONDE_API[^;(]*?\b(ronde\w+)\(", header.read_text(), re.MULTILINE))


def check_library(library, header):
    exported = set()
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        if kind == "A" and name.partition("@")[0] == VERSION_NODE:  # the version node itself
            continue
        name, _, version = name.partition("@@")
        check_quietly(name.startswith("ronde") and version == VERSION_NODE, f"exported by mistake: {name}@@{version}")
        exported.add(name)
    declared = declared_functions(header)
    check(exported == declared, f"exports the {len(declared)} functions of the header and nothing else"
          + "".join(f"\n      missing: {name}" for name in sorted(declared - exported))
          + "".join(f"\n      too many: {name}" for name in sorted(exported - declared)))

    dynamic = run("readelf", "-dW", library)
    soname = re.search(r"\(SONAME\).*\[(.*)\]", dynamic)
    check(soname is not None and soname.group(1) == SONAME, f"SONAME is {SONAME}")
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        check(re.fullmatch(MAY_NEED, needed) is not None, f"may need {needed}")
    check("RUNPATH" not in dynamic and "RPATH" not in dynamic, "has no run path")


def check_quietly(condition, text):
    if not condition:
        check(condition, text)


def check_example(program, library_folder):
    environment = {name: value for name, value in os.environ.items()
                   if not re.match(r"RONDE_|OMPI_|PMI|SLURM_|RANK$|WORLD_SIZE$|MASTER_|LD_LIBRARY_PATH$", name)}
    if library_folder is not None:
        environment["LD_LIBRARY_PATH"] = str(library_folder)
    output = run(program, env=environment)
    check(output.startswith("1 ranks, average of the first gradient: 0"), f"{program.name} runs: {output.strip()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--sanitize", default="")
    arguments = parser.parse_args()

    if arguments.sanitize:
        print("skipped: a library with a sanitizer needs programs that have it too")
        sys.exit(77)
    for tool in ("gcc", "g++", "ninja", "nm", "readelf", "pkg-config"):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not installed")
            sys.exit(77)

    with tempfile.TemporaryDirectory(prefix="ronde-install-") as temporary:
        folder = pathlib.Path(temporary)
        run(arguments.cmake, "--install", arguments.build, "--prefix", folder / "first")
        # What was installed may be moved.
        prefix = folder / "moved"
        (folder / "first").rename(prefix)

        header = prefix / "include/ronde/ronde.h"
        check(header.is_file(), "include/ronde/ronde.h is there")
        libraries = list(prefix.glob("lib*/**/" + SONAME))
        check(len(libraries) == 1, f"{SONAME} is there once")
        if failures:
            sys.exit(1)
        library = libraries[0]
        check_library(library, header)

        # By find_package.
        by_cmake = folder / "by-cmake"
        run(arguments.cmake, "-G", "Ninja", "-S", arguments.source / "examples", "-B", by_cmake,
            f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_C_COMPILER=gcc", f"-DCMAKE_C_FLAGS={' '.join(C_FLAGS)}",
            "-DCMAKE_CXX_COMPILER=g++", f"-DCMAKE_CXX_FLAGS={' '.join(CXX_FLAGS)}", cwd=folder)
        run(arguments.cmake, "--build", by_cmake)
        check_example(by_cmake / "example_allreduce", None)
        check_example(by_cmake / "example_allreduce_cc", None)

        # By pkg-config.
        environment = {**os.environ, "PKG_CONFIG_PATH": str(library.parent / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "ronde", env=environment).split()
        by_pkg_config = folder / "by-pkg-config"
        run("gcc", *C_FLAGS, arguments.source / "examples/allreduce.c", *flags, "-o", by_pkg_config)
        check_example(by_pkg_config, library.parent)
        run("g++", *CXX_FLAGS, arguments.source / "examples/allreduce.cc", *flags, "-o", by_pkg_config)
        check_example(by_pkg_config, library.parent)

        pages = {page.stem for page in prefix.glob("share/man/man3/*.3")}
        without = declared_functions(header) - pages
        check(not without, "every function has a manual page"
              + "".join(f"\n      not {name}" for name in sorted(without)))

        built = {program.name for program in (arguments.build / "bin").glob("*_perf")}
        installed = {program.name for program in (prefix / "bin").glob("*_perf")}
        check(built == installed, f"all {len(built)} *_perf programs are installed"
              + "".join(f"\n      only in one place: {name}" for name in sorted(built ^ installed)))
        for program in sorted(prefix.glob("bin/*")):
            run(program, "--help")
            check(True, f"bin/{program.name} --help works")

    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
