"""What ronde.hpp says to a compiler where a program is wrong: the first error is one that names the remedy. And that the
examples of docs/cpp.md compile.

    refused_test.py INCLUDE_FOLDER DOCUMENT COMPILER...
"""
import pathlib
import re
import subprocess
import sys
import unittest

NOT_SUPPORTED = "elements of this type are not supported"


def errors(compiler, source, standard="c++20"):
    """The lines with errors that a compiler writes for a program."""
    done = subprocess.run([compiler, f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                           "-Wno-unused-parameter", "-I", str(INCLUDE), "-x", "c++", "-"], input=source, capture_output=True, text=True, timeout=60, check=False)
    found = [line for line in done.stderr.splitlines() if " error: " in line]
    assert bool(found) == (done.returncode != 0), done.stderr
    return found


def statement(code):
    return ("#include <ronde/ronde.hpp>\n#include <list>\n#include <array>\n"
            "void f(const ronde::Communicator& comm, std::vector<short> shorts, std::vector<bool> bools, std::vector<int> "
            "ints, std::vector<float> floats, const std::vector<int> fixed, std::list<int> list, float factor) {\n"
            f"  {code}\n}}\n")


class Refused(unittest.TestCase):
    def expect(self, code, text):
        for compiler in COMPILERS:
            found = errors(compiler, statement(code))
            self.assertTrue(found, f"{compiler} takes {code}")
            self.assertIn(text, found[0], f"{compiler}: {code}")

    def test_an_older_language_is_one_error(self):
        for compiler in COMPILERS:
            for standard in ("c++11", "c++14", "c++17"):
                found = errors(compiler, "#include <ronde/ronde.hpp>\n", standard)
                self.assertEqual(len(found), 1, found)
                self.assertIn("ronde.hpp needs C++20 (-std=c++20)", found[0])

    def test_types_of_elements(self):
        for code in ("comm.all_reduce(shorts, rondeSum);", "comm.all_reduce(shorts, shorts, rondeSum);",
                     "comm.all_gather(shorts);", "comm.broadcast(shorts, 0);", "comm.send(shorts, 0);",
                     "comm.recv(shorts, 0);", "comm.reduce_scatter(shorts, rondeSum);"):
            self.expect(code, NOT_SUPPORTED)
        for code in ("comm.all_reduce(bools, rondeSum);", "comm.all_reduce(list, rondeSum);", "comm.broadcast(bools, 0);"):
            self.expect(code, "one behind the other")

    def test_what_does_not_fit(self):
        self.expect("comm.all_reduce(fixed, rondeSum);", "what is written to is const")
        self.expect("comm.all_gather(ints, floats);", "input and output are of different types")
        self.expect("ronde::Reduction<float>(comm, [factor](float a, float b) { return factor * a + b; });",
                    "the state as void* user")

    def test_what_is_right(self):
        for compiler in COMPILERS:
            self.assertEqual(errors(compiler, statement("comm.all_reduce(fixed, ints, rondeSum);")), [])

    def test_the_examples_of_the_document(self):
        examples = re.findall(r"```cpp\n(.*?)```", DOCUMENT, re.DOTALL)
        self.assertTrue(examples)
        for compiler in COMPILERS:
            for example in examples:
                self.assertEqual(errors(compiler, example), [])


if __name__ == "__main__":
    INCLUDE = pathlib.Path(sys.argv[1])
    DOCUMENT = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
    COMPILERS = sys.argv[3:]
    unittest.main(argv=sys.argv[:1])
