#!/usr/bin/env python3
"""Plants violations in a small tree and sees that check_layers.py finds each; and that it finds none in a clean one."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"

HEADER = "// A header.\n#pragma once\n"
CLEAN = {
    "include/ronde/ronde.h": "/* The C API. */\n#ifndef RONDE_RONDE_H\n#define RONDE_RONDE_H\n#endif\n",
    "include/ronde/ronde.hpp": HEADER + "#include <ronde/ronde.h>\n",
    "src/base/status.h": HEADER + '#include <string>\n\n#include "ronde/ronde.h"\n',
    "src/base/settings.cc": '#include <cstdlib>\nconst char* f() { return std::getenv("X"); }\n',
    "src/schedule/steps.h": HEADER,
    "src/schedule/ring.h": HEADER + '#include "schedule/steps.h"\n',
    "src/memory/copy.h": HEADER + '#include "base/status.h"\n',
    "src/memory/copy.cc": '#include "memory/copy.h"\n\n#include <cstring>\n',
    "src/memory/kernel-inl.h": "// Once a target.\n#ifdef HWY_TARGET_TOGGLE\n#endif\n",
    "src/memory/cuda_memory.cc": "#include <cuda.h>\n",
    "src/topology/detect.cc": '#include <hwloc.h>\n\n#include "base/status.h"\n',
    "src/bootstrap/id.h": HEADER + '#include "base/status.h"\n',
    "src/link/transport.h": HEADER + '#include "base/status.h"\n#include "memory/copy.h"\n',
    "src/plan/choose.h": HEADER + '#include "base/status.h"\n#include "schedule/ring.h"\n',
    "src/runtime/task.h": HEADER + '#include "link/transport.h"\n#include "plan/choose.h"\n',
    "src/api/api.cc": '#include "runtime/task.h"\n#include "transports/built_in.h"\n',
    "transports/built_in.h": HEADER + '#include "link/transport.h"\n',
    "transports/built_in.cc": '#include "transports/built_in.h"\n\n#include "transports/tcp/tcp.h"\n',
    "transports/tcp/tcp.h": HEADER + '#include "link/transport.h"\n',
    "transports/shm/shm.h": HEADER + '#include "link/transport.h"\n',
    "transports/rdma/rdma.cc": "#include <infiniband/verbs.h>\n",
    "benchmarks/micro/reduce.cc": '#include "memory/copy.h"\n',
    "benchmarks/perf.cc": '#include "common/options.h"\n#include "ronde/ronde.h"\n',
    "examples/hello.c": "#include <ronde/ronde.h>\n",
    "tools/topo.cc": '#include "runtime/task.h"\n',
    "tests/cases/any.cc": '#include "runtime/task.h"\n#include "transports/built_in.h"\n#include "transports/tcp/tcp.h"\n',
}

# File, text, what the script must say about it.
VIOLATIONS = [
    ("src/schedule/bad.h", HEADER + '#include "base/status.h"\n', "3: schedule may not include base"),
    ("src/schedule/bad.h", HEADER + '#include "ronde/ronde.h"\n', "3: schedule includes nothing but itself"),
    ("src/base/bad.h", HEADER + '#include "memory/copy.h"\n', "3: base may not include memory"),
    ("src/memory/bad.h", HEADER + '#include "link/transport.h"\n', "3: memory may not include link"),
    ("src/memory/bad.h", HEADER + '#include "schedule/ring.h"\n', "3: memory may not include schedule"),
    ("src/topology/bad.h", HEADER + '#include "plan/choose.h"\n', "3: topology may not include plan"),
    ("src/bootstrap/bad.h", HEADER + '#include "memory/copy.h"\n', "3: bootstrap may not include memory"),
    ("src/link/bad.h", HEADER + '#include "bootstrap/id.h"\n', "3: link may not include bootstrap"),
    ("src/plan/bad.h", HEADER + '#include "memory/copy.h"\n', "3: plan may not include memory"),
    ("src/runtime/bad.cc", '#include "transports/tcp/tcp.h"\n', "1: runtime may not include transports"),
    ("src/runtime/bad.cc", '#include "transports/built_in.h"\n', "1: runtime may not include transports"),
    ("src/api/bad.cc", '#include "transports/tcp/tcp.h"\n', "1: api may not include transports"),
    ("transports/tcp/bad.cc", '#include "transports/shm/shm.h"\n', "1: transport tcp may not include transport shm"),
    ("transports/tcp/bad.cc", '#include "transports/built_in.h"\n', "1: only api includes the list of transports"),
    ("transports/tcp/bad.cc", '#include "runtime/task.h"\n', "1: transports may not include runtime"),
    ("transports/tcp/bad.cc", '#include "bootstrap/id.h"\n', "1: transports may not include bootstrap"),
    ("benchmarks/bad.cc", '#include "base/status.h"\n', "1: benchmarks may include only ronde/ronde.h, not base"),
    ("bindings/torch/bad.cc", '#include "runtime/task.h"\n', "1: bindings may include only ronde/ronde.h, not runtime"),
    ("examples/bad.cc", '#include "transports/built_in.h"\n', "1: examples may include only ronde/ronde.h"),
    ("tools/bad.cc", '#include "transports/tcp/tcp.h"\n', "1: tools may not include transports"),
    ("benchmarks/micro/bad.cc", '#include "transports/tcp/tcp.h"\n', "1: benchmarks may not include transports"),
    ("src/memory/bad.cc", "#include <cuda_runtime.h>\n", "1: CUDA headers only in files named *cuda*"),
    ("src/memory/bad.cc", "#include <nvml.h>\n", "1: CUDA headers only in files named *cuda*"),
    ("transports/tcp/bad.cc", "#include <infiniband/verbs.h>\n", "1: verbs headers only in transports/rdma"),
    ("src/plan/bad.cc", "#include <hwloc.h>\n", "1: hwloc headers only in src/topology"),
    ("src/bootstrap/bad.cc", 'const char* f() { return getenv("X"); }\n', "1: only src/base/settings.cc reads"),
    ("transports/shm/bad.cc", '\n\nauto f() { return std::secure_getenv("X"); }\n', "3: only src/base/settings.cc reads"),
    ("src/base/bad.cc", "Fd a(::socket(1, 2, 0));\n", "1: not in Fd::make([&] { return ...; }): socket("),
    ("src/base/bad.cc", "\nint f() { return open(name); }\n", "2: not in Fd::make([&] { return ...; }): open("),
    ("transports/tcp/bad.cc", "Fd a = Fd::make([&] { log(); return ::accept4(b, 0, 0, 0); });\n", "1: not in Fd::make"),
    ("src/topology/bad.cc", 'std::ifstream file("/proc/stat");\n', "1: not in Fd::make([&] { return ...; }): ifstream"),
    ("src/runtime/bad.cc", "int a = syscall(SYS_pidfd_open, 1, 0);\n", "1: not in Fd::make([&] { return ...; }): SYS_"),
    ("transports/shm/bad.cc", "recvmsg(a, &b, MSG_CMSG_CLOEXEC);\n", "1: only src/base/unix_socket.cc receives"),
    ("src/memory/bad.cc", '#include "copy.h"\n', '1: "copy.h": write "room/file.h"'),
    ("src/memory/bad.cc", '#include "../base/status.h"\n', '1: "../base/status.h": write "room/file.h"'),
    ("src/memory/bad.cc", "#include <base/status.h>\n", '1: write "base/status.h", not <base/status.h>'),
    ("src/memory/bad.cc", '#include "base/nothing.h"\n', '1: "base/nothing.h" does not exist'),
    ("src/memory/copy.cc", '#include <cstring>\n#include "memory/copy.h"\n', "1: the first include must be the own header"),
    ("src/memory/bad.h", "#pragma once\n", "1: a header starts with a comment"),
    ("src/memory/bad.h", "// A header.\n", "1: a header has #pragma once"),
    ("src/memory/bad-inl.h", HEADER, "1: a header compiled once for each instruction set"),
    ("include/ronde/ronde.h", HEADER, "1: the public header has an include guard"),
    ("include/ronde/ronde.h", CLEAN["include/ronde/ronde.h"] + '#include "base/status.h"\n', "5: the public header"),
    ("include/ronde/ronde.hpp", HEADER + '#include "base/status.h"\n', "3: the public header includes no base"),
    ("src/api/bad.cc", '#include "ronde/ronde.hpp"\n', "1: only programs include"),
    ("src/schedule/bad.h", HEADER + "/* two\nlines */ #  include  \"base/status.h\"\n", "4: schedule may not include base"),
]

HARMLESS = [
    ("examples/fine.cc", "#include <ronde/ronde.hpp>\n"),
    ("src/schedule/fine.h", HEADER + '// #include "base/status.h"\n/*\n#include "base/status.h"\n*/\n'),
    ("src/base/fine.cc", '// getenv is for settings.cc\nconst char* kText = "getenv";\nint n = 1\'000; /* getenv */\n'),
    ("src/base/fine.cc", "Fd a = Fd::make([&] { return ::socket(1, 2, 0); });\nFd b =\n    Fd::make([] { return ::eventfd(0, 0); });\n"),
    ("src/base/fine.cc", "bool open() const;\nif (group.open()) peer->accept(a);\nint socket = a.pipe(b);\n"),
    ("src/base/unix_socket.cc", "recvmsg(a, &b, MSG_CMSG_CLOEXEC);\n"),
    ("tools/fine.cc", "int fd = open(name);\n"),
]


def check(files):
    with tempfile.TemporaryDirectory(prefix="ronde-layers-") as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, SCRIPT, folder], text=True, capture_output=True, check=False)
        return done.returncode, done.stdout


class CheckLayers(unittest.TestCase):
    def test_a_clean_tree_is_ok(self):
        code, output = check(CLEAN)
        self.assertRegex(output, rf"^OK: {len(CLEAN)} files, \d+ includes\n$")
        self.assertEqual(code, 0)

    def test_each_violation_is_found_and_nothing_else(self):
        for name, text, expected in VIOLATIONS:
            with self.subTest(name=name, text=text):
                code, output = check({**CLEAN, name: text})
                self.assertTrue(output.startswith(f"{name}:{expected}"), output)
                self.assertEqual(output.count("\n"), 1, output)
                self.assertEqual(code, 1)

    def test_comments_and_strings_are_no_violations(self):
        for name, text in HARMLESS:
            with self.subTest(name=name):
                code, output = check({**CLEAN, name: text})
                self.assertEqual((code, output[:3]), (0, "OK:"), output)


if __name__ == "__main__":
    unittest.main()
