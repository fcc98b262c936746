#!/usr/bin/env python3
"""Checks who includes whom, how headers look, and that descriptors and the environment are touched in their places.

usage: check_layers.py [ROOT]

Prints one line a violation, "file:line: what is wrong", and exits with 1; or one line of counts. The rules are those of
ARCHITECTURE.md; the table below is their one place in code.
"""
import pathlib
import re
import sys

ROOMS = ("api", "base", "bootstrap", "control", "link", "memory", "plan", "runtime", "schedule", "topology")
BUILT_IN = "transports/built_in.h"  # the list of all transports
PUBLIC = "ronde/ronde.h"
PUBLIC_CPP = "ronde/ronde.hpp"  # for programs, never for the library itself

# Which rooms a room of src may include beside itself.
MAY_INCLUDE = {
    "schedule": set(),
    "base": set(),
    "memory": {"base"},
    "topology": {"base"},
    "bootstrap": {"base"},
    "control": {"base", "bootstrap"},
    "link": {"base", "memory"},
    "plan": {"base", "schedule", "topology"},
    "runtime": set(ROOMS) - {"api"},
    "api": set(ROOMS),
}
TRANSPORTS_MAY_INCLUDE = {"base", "memory", "link"}

SCANNED = ("include", "src", "transports", "benchmarks", "bindings", "examples", "tools", "tests")
SOURCES = (".h", ".hpp", ".cuh", ".c", ".cc", ".cpp", ".cu")
HEADERS = (".h", ".hpp", ".cuh")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
COMMENTS_AND_LITERALS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.[^\'\n]*|[^\'\\\n])\'', re.DOTALL)
GETENV = re.compile(r"\b(?:secure_)?getenv\b")

# What makes a descriptor. open and accept are names of member functions too: they count where they stand like a call.
DESCRIPTOR_CALLS = (
    "socket socketpair accept4 memfd_create memfd_secret shm_open eventfd epoll_create1? pidfd_open pidfd_getfd "
    "timerfd_create signalfd inotify_init1? dup[23]? pipe2? openat2? creat fopen fdopen popen opendir mkstemp mkostemp")
MAKES_DESCRIPTOR = re.compile(
    rf"(?<![\w.>])(?P<call>(?:{DESCRIPTOR_CALLS.replace(' ', '|')})\s*\()"
    r"|(?:[=({;,!&|?:]|\breturn)\s*(?P<common>(?:open|accept)\s*\()"
    r"|\b(?P<other>SYS_\w*(?:open|fd|socket|accept|dup|pipe)\w*|F_DUPFD\w*|[io]?fstream)\b")
IN_FD_MAKE = re.compile(r"\bFd::make\(\s*\[&?\]\s*\{\s*return (?:::)?$")
RECEIVES_DESCRIPTORS = re.compile(r"\bMSG_CMSG_CLOEXEC\b|\bSCM_RIGHTS\b")
RECEIVER = "src/base/unix_socket.cc"


def blank(match, keep_strings):
    """The same number of lines, without what the match holds."""
    text = match.group(0)
    if keep_strings and not text.startswith("/"):
        return text
    return "\n" * text.count("\n")


def without_comments(text):
    return COMMENTS_AND_LITERALS.sub(lambda match: blank(match, keep_strings=True), text)


def without_comments_and_literals(text):
    return COMMENTS_AND_LITERALS.sub(lambda match: blank(match, keep_strings=False), text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def first_folder(path):
    return path.split("/", 1)[0] if "/" in path else ""


class File:
    """One source file: its path from the root, where it belongs, what it includes."""

    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.name = path.name
        self.is_header = path.suffix in HEADERS
        self.text = path.read_text(encoding="utf-8", errors="replace")
        parts = self.path.split("/")
        self.area = parts[0]
        self.room = parts[1] if len(parts) > 2 else ""
        code = without_comments(self.text)
        self.includes = [(line_of(code, match.start()), match.group(1) or match.group(2), match.group(1) is not None)
                         for match in INCLUDE.finditer(code)]

    def names(self, word):
        return any(word in part for part in self.path.split("/"))

    def in_room(self, area, room):
        return self.area == area and self.room == room


def is_project(include):
    return first_folder(include) in (*ROOMS, "transports", "ronde")


def check_room(file, include):
    """Of src: what a room may include."""
    target = first_folder(include)
    if include == PUBLIC:
        return "schedule includes nothing but itself" if file.room == "schedule" else ""
    if target == "transports":
        return "" if include == BUILT_IN and file.room == "api" else f"{file.room} may not include transports"
    if target in ROOMS and target != file.room and target not in MAY_INCLUDE.get(file.room, set()):
        return f"{file.room} may not include {target}"
    return ""


def check_transport(file, include):
    target = first_folder(include)
    if target == "transports":
        other = include.split("/")[1]
        if file.room == "":  # the list of all transports itself
            return ""
        if include == BUILT_IN:
            return "only api includes the list of transports"
        return "" if other == file.room else f"transport {file.room} may not include transport {other}"
    if target in ROOMS and target not in TRANSPORTS_MAY_INCLUDE:
        return f"transports may not include {target}"
    return ""


def check_outside(file, include):
    """Of everything that is not the library."""
    target = first_folder(include)
    if file.area == "tests":
        return ""
    sees_src = file.area == "tools" or file.in_room("benchmarks", "micro")
    if sees_src:
        return f"{file.area} may not include transports" if target == "transports" else ""
    if target in ROOMS or target == "transports":
        return f"{file.area} may include only {PUBLIC}, not {target}"
    return ""


def check_layer(file, include):
    if file.area == "include":
        if file.path == f"include/{PUBLIC_CPP}" and include == PUBLIC:
            return ""
        return f"the public header includes no {first_folder(include)}" if is_project(include) else ""
    if include == PUBLIC_CPP and file.area in ("src", "transports"):
        return f"only programs include {PUBLIC_CPP}"
    if file.area == "src":
        return check_room(file, include)
    if file.area == "transports":
        return check_transport(file, include)
    return check_outside(file, include)


def check_foreign(file, include):
    """Headers of libraries that only some places may know."""
    base = include.rsplit("/", 1)[-1]
    if re.match(r"cuda.*\.h(pp)?$|nvml\.h$|cooperative_groups", base) or first_folder(include) == "cuda":
        if not (file.names("cuda") or file.path.endswith((".cu", ".cuh"))):
            return "CUDA headers only in files named *cuda*, *.cu or *.cuh"
    if first_folder(include) in ("infiniband", "rdma") and file.room != "rdma":
        if not file.path.startswith("tests/transports/rdma/"):
            return "verbs headers only in transports/rdma"
    if (include == "hwloc.h" or first_folder(include) == "hwloc") and file.room != "topology":
        return "hwloc headers only in src/topology"
    return ""


def check_style(root, file, include, quoted):
    if file.area not in ("src", "transports"):
        return ""
    if not quoted:
        return f'write "{include}", not <{include}>' if is_project(include) else ""
    if not is_project(include):
        return f'"{include}": write "room/file.h", "transports/room/file.h" or "{PUBLIC}", and system headers in <>'
    if include.startswith(("ronde/", "transports/")):
        target = root / "include" / include if include.startswith("ronde/") else root / include
    else:
        target = root / "src" / include
    return "" if target.is_file() else f'"{include}" does not exist'


def check_includes(root, file):
    for line, include, quoted in file.includes:
        project = quoted or is_project(include)
        layer = check_layer(file, include) if project else ""
        foreign = "" if project and is_project(include) else check_foreign(file, include)
        for violation in (layer, foreign, check_style(root, file, include, quoted)):
            if violation:
                yield line, f"{violation}: {include}" if include not in violation else violation


def check_own_header_first(root, file):
    own = pathlib.PurePosixPath(file.path).with_suffix(".h")
    if file.area not in ("src", "transports") or file.is_header or not (root / own).is_file():
        return
    wanted = own.relative_to("src").as_posix() if file.area == "src" else own.as_posix()
    if file.includes and file.includes[0][1] != wanted:
        yield file.includes[0][0], f'the first include must be the own header, "{wanted}"'


def check_header(file):
    if not file.is_header:
        return
    if not re.match(r"\s*(//|/\*)", file.text):
        yield 1, "a header starts with a comment that says what it is"
    if file.path == f"include/{PUBLIC}":
        if not re.search(r"^#ifndef (\w+)\n#define \1\b", file.text, re.MULTILINE):
            yield 1, "the public header has an include guard"
    elif file.name.endswith("-inl.h"):
        if "HWY_TARGET_TOGGLE" not in file.text:
            yield 1, "a header compiled once for each instruction set is guarded by HWY_TARGET_TOGGLE"
    elif not re.search(r"^#pragma once$", file.text, re.MULTILINE):
        yield 1, "a header has #pragma once"


def check_getenv(file):
    if file.area not in ("src", "transports") or file.path == "src/base/settings.cc":
        return
    code = without_comments_and_literals(file.text)
    for match in GETENV.finditer(code):
        yield line_of(code, match.start()), "only src/base/settings.cc reads the environment"


def check_descriptors(file):
    """A forked child closes what Fd::make has made; what is made elsewhere it would keep."""
    if file.area not in ("src", "transports"):
        return
    code = without_comments_and_literals(file.text)
    for match in MAKES_DESCRIPTOR.finditer(code):
        call = match.lastgroup
        if not IN_FD_MAKE.search(code, 0, match.start(call)):
            yield line_of(code, match.start(call)), f"not in Fd::make([&] {{ return ...; }}): {match.group(call)}"
    if file.path == RECEIVER:
        return
    for match in RECEIVES_DESCRIPTORS.finditer(code):
        yield line_of(code, match.start()), f"only {RECEIVER} receives descriptors"


def check(root):
    """All violations, and how many files and includes were looked at."""
    violations = []
    files = includes = 0
    for area in SCANNED:
        for path in sorted((root / area).rglob("*")):
            if path.suffix not in SOURCES or not path.is_file():
                continue
            file = File(root, path)
            files += 1
            includes += len(file.includes)
            found = [*check_includes(root, file), *check_own_header_first(root, file), *check_header(file),
                     *check_getenv(file), *check_descriptors(file)]
            violations += [f"{file.path}:{line}: {what}" for line, what in sorted(found)]
    return violations, files, includes


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    if not (root / "src").is_dir():
        print(f"{root}/src is not a folder", file=sys.stderr)
        return 2
    violations, files, includes = check(root)
    for violation in violations:
        print(violation)
    if not violations:
        print(f"OK: {files} files, {includes} includes")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
