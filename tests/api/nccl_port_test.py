"""The recipe of docs/nccl.md: what its table says of each call is what its sed lines make, and a program for NCCL that is
taken over by them compiles without a warning and runs.

    nccl_port_test.py DOCUMENT PROGRAM INCLUDE_FOLDER LIBRARY_FOLDER COMPILER [NCCL_H]
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROWS = re.compile(r"^\| `(cuda[^`]*)` \| `([^`]*)` \|", re.MULTILINE)
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=50, check=False, **options)
    return done.returncode, done.stdout


class Recipe(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="ronde-nccl-")
        self.addCleanup(self.folder.cleanup)
        self.script = self.path("to_ronde.sed")
        self.script.write_text(re.search(r"```sed\n(.*?)```", DOCUMENT, re.DOTALL)[1])

    def path(self, name):
        return pathlib.Path(self.folder.name) / name

    def taken_over(self, text):
        code, output = run("sed", "-E", "-f", self.script, input=text)
        self.assertEqual(code, 0, output)
        return output

    def test_rows_of_the_table(self):
        rows = ROWS.findall(DOCUMENT)
        self.assertGreater(len(rows), 20)
        for cuda, ronde in rows:
            self.assertEqual(self.taken_over(cuda), ronde)
            self.assertEqual(self.taken_over(f"  CHECK({cuda});"), f"  CHECK({ronde});")

    def test_other_ways_to_write_it(self):
        for before, after in [
                ('#include "nccl.h"', "#include <ronde/ronde.h>"),
                ("#include <cuda_runtime.h>", "#include <string.h>"),
                ("cudaMalloc(&p[i], n * sizeof(*p))", "rondeMemAlloc((void**)&p[i], n * sizeof(*p))"),
                ("cudaMemcpy(f(a, b), c, n * (m + 1), cudaMemcpyDefault)",
                 "(memcpy(f(a, b), c, n * (m + 1)), rondeSuccess)"),
                ("cudaMemset(p, 0, n * sizeof(int)); cudaFree(q);",
                 "(memset(p, 0, n * sizeof(int)), rondeSuccess); rondeMemFree(q);"),
                ("ncclCommInitAll(comms, 4, NULL)", "rondeCommInitAll(comms, 4, NULL)"),
                ("ncclCommCuDevice(comm, &d) == ncclSuccess", "rondeCommDevice(comm, &d) == rondeSuccess"),
                ("ncclConfig_t c = NCCL_CONFIG_INITIALIZER;", "rondeConfig_t c = RONDE_CONFIG_INITIALIZER;"),
                ("my_ncclThing", "my_ncclThing")]:
            self.assertEqual(self.taken_over(before), after)

    def test_a_program(self):
        ported = self.taken_over(PROGRAM.read_text(encoding="utf-8"))
        code_only = re.sub(r"/\*.*?\*/", "", ported, flags=re.DOTALL)
        self.assertEqual(re.findall(r"\b(?:nccl\w+|cuda\w+|NCCL_\w+|CUDART\w*)", code_only), [])
        source, program = self.path("ported.c"), self.path("ported")
        source.write_text(ported, encoding="utf-8")
        built = run(COMPILER, *FLAGS, source, "-I", INCLUDE, "-L", LIBRARY, "-lronde", f"-Wl,-rpath,{LIBRARY}", "-o",
                    program)
        self.assertEqual(built, (0, ""))
        sum_line = "rank {}: the last sum is 1999, 1 host function called\n"
        self.assertEqual(run(program), (0, sum_line.format(0) + sum_line.format(1) + "done\n"))

    def test_the_program_is_one_for_nccl(self):
        if NCCL_H is None or not (NCCL_H.parent / "cuda_runtime_api.h").exists():
            self.skipTest("nccl.h and the CUDA runtime's header are not installed")
        self.assertEqual(run(COMPILER, *FLAGS, "-fsyntax-only", "-isystem", NCCL_H.parent, PROGRAM), (0, ""))


if __name__ == "__main__":
    DOCUMENT = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    PROGRAM, INCLUDE, LIBRARY = (pathlib.Path(path) for path in sys.argv[2:5])
    COMPILER = sys.argv[5]
    NCCL_H = pathlib.Path(sys.argv[6]) if len(sys.argv) > 6 else None
    unittest.main(argv=sys.argv[:1])
