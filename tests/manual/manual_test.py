#!/usr/bin/env python3
"""The generator of the manual: how it reads a header, that it refuses what has no text, that its pages are sound."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/manual"))

from header import read_header  # noqa: E402
from manual import inline, read_manual  # noqa: E402
from text import read_comment, sentence_of_errors  # noqa: E402

import roff  # noqa: E402

HEADER = """/* Ronde: a header. The contract.
 *
 * Conventions:
 *
 *  1. One.
 *  2. Two, in
 *     two lines.
 *  4. Four.
 *  5. Five.
 *  9. Nine.
 *  12. Of all.
 */
#define RONDE_MAJOR 1
#define RONDE_MINOR 2
#define RONDE_PATCH 3
/* ---- Results ---- */

/* What comes back. */

typedef enum {
  rondeSuccess = 0,
  rondeSystemError = 2, /* the system refused it */
  rondeTimedOut = 104   /* too late */
} rondeResult_t;

/* ---- Memory ---- */

/* Room for buffers. */

/* Makes room; of n bytes.
 * Errors: rondeSystemError (no memory), rondeTimedOut. Nothing is kept. */
RONDE_API rondeResult_t rondeMemAlloc(void** memory,
                                      size_t bytes);
#define RONDE_ALIGNMENT 64 /* of all of it */

/* Gives it back. rondeSystemError: it was not ours. NULL is allowed. */
RONDE_API rondeResult_t rondeMemFree(void* memory);

#ifdef __cplusplus
}
#endif
"""


class Tree:
    """A tree with this header and its examples, and the generator run on it."""

    def __init__(self, header, examples=("results", "memory")):
        self.folder = tempfile.TemporaryDirectory(prefix="ronde-manual-")
        self.root = pathlib.Path(self.folder.name)
        for path in ("include/ronde", "examples/manual", "docs/manual"):
            (self.root / path).mkdir(parents=True)
        (self.root / "include/ronde/ronde.h").write_text(header)
        for name in examples:
            (self.root / f"examples/manual/{name}.c").write_text("/* Nothing. */\nint main(void) { return 0; }\n")

    def build(self, *arguments):
        done = subprocess.run([sys.executable, "-B", str(ROOT / "tools/manual/build.py"), "--root", str(self.root),
                               *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        return done.returncode, done.stdout

    def page(self, name):
        return (self.root / "docs/manual" / name).read_text()


class Reading(unittest.TestCase):
    def test_sections_blocks_and_conventions(self):
        header = read_header(HEADER)
        self.assertEqual(header.version, "1.2.3")
        self.assertEqual(header.conventions[2], "Two, in two lines.")
        self.assertEqual([section.title for section in header.sections], ["Results", "Memory"])
        memory = header.sections[1]
        self.assertEqual(memory.comment, "Room for buffers.")
        self.assertEqual([block.names for block in memory.blocks], [["rondeMemAlloc"], ["rondeMemFree"]])
        self.assertEqual(memory.blocks[0].declarations[0].parameters, ["memory", "bytes"])
        self.assertEqual(header.results["rondeTimedOut"], "too late")

    def test_a_list_of_errors_becomes_rows(self):
        results = {"rondeSystemError": "refused", "rondeTimedOut": "too late", "rondeMismatch": "differs"}
        comment = read_comment("Sends.\nErrors: rondeSystemError (no port, or (far) away), those of others: "
                               "rondeTimedOut, rondeMismatch; rondeSystemError: a, b. It is gone then.", results)
        self.assertEqual(comment.errors, [("rondeSystemError", "no port, or (far) away"), ("", "those of others:"),
                                          ("rondeTimedOut", "too late"), ("rondeMismatch", "differs"),
                                          ("rondeSystemError", "a, b")])
        self.assertEqual(comment.after_errors, "It is gone then.")
        self.assertEqual(comment.parts, ["Sends."])

    def test_errors_without_a_name_become_sentences_between_the_rows(self):
        results = {"rondeSystemError": "refused", "rondeTimedOut": "too late"}
        comment = read_comment("Sends.\nErrors: rondeSystemError (no port), and those of all: rondeTimedOut, and those "
                               "of comm.", results)
        self.assertEqual(comment.error_groups, [("", [("rondeSystemError", "no port")]),
                                                ("Also the errors of all:", [("rondeTimedOut", "too late")]),
                                                ("Also the errors of comm.", [])])
        comment = read_comment("Asks.\nErrors: those of comm, rondeTimedOut.", results)
        self.assertEqual(comment.error_groups, [("The errors of comm, and:", [("rondeTimedOut", "too late")])])
        self.assertEqual(sentence_of_errors("as others", True), "Otherwise as others.")

    def test_a_sentence_that_begins_with_a_result_becomes_a_row(self):
        comment = read_comment("Asks. rondeTimedOut, and nothing is freed: too late. rondeMismatch, too: differs. NULL "
                               "is allowed.", {"rondeTimedOut": "", "rondeMismatch": ""})
        self.assertEqual(comment.errors, [("rondeTimedOut", "too late, and nothing is freed"),
                                          ("rondeMismatch", "differs")])
        self.assertEqual(comment.parts, ["Asks. NULL is allowed."])

    def test_code_in_sentences(self):
        parts = list(inline("recvbuff == sendbuff + displs[r] of comm; u = 2^-8, count, *count", {"comm", "count"}))
        self.assertEqual([part for kind, part in parts if kind == "code"],
                         ["recvbuff == sendbuff + displs[r]", "comm", "*count"])


class Building(unittest.TestCase):
    def expect_refused(self, header, text, **options):
        code, output = Tree(header, **options).build()
        self.assertEqual(code, 1, output)
        self.assertIn(text, output)

    def test_a_new_section_becomes_a_page_without_edits(self):
        tree = Tree(HEADER)
        self.assertEqual(tree.build()[0], 0)
        page = tree.page("memory.md")
        self.assertIn("Room for buffers.", page)
        self.assertIn("rondeResult_t rondeMemAlloc(void** memory,\n                            size_t bytes);", page)
        self.assertIn("| `rondeSystemError` | no memory |", page)
        self.assertIn("int main(void) { return 0; }", page)
        self.assertIn("- **4.** Four.", page)
        self.assertIn("- **12.** Of all.", page)
        self.assertIn("[`rondeMemFree`](memory.md#rondememfree) | Gives it back |", tree.page("README.md"))
        self.assertEqual(tree.build("--check"), (0, ""))

    def test_check_names_what_differs_and_the_remedy(self):
        tree = Tree(HEADER)
        tree.build()
        header = tree.root / "include/ronde/ronde.h"
        header.write_text(HEADER.replace("Makes room", "Finds room"))
        (tree.root / "docs/manual/old.md").write_text("old\n")
        code, output = tree.build("--check")
        self.assertEqual(code, 1)
        for text in ("docs/manual/memory.md is not what", "docs/manual/old.md belongs to no section",
                     "run: python3 tools/manual/build.py"):
            self.assertIn(text, output)
        self.assertEqual(tree.build()[0], 0)
        self.assertEqual(tree.build("--check"), (0, ""))

    def test_refused(self):
        without_text = HEADER.replace("/* Gives it back. rondeSystemError: it was not ours. NULL is allowed. */\n", "")
        self.expect_refused(without_text, "rondeMemFree has no comment")
        only_errors = HEADER.replace("Gives it back. ", "").replace(" NULL is allowed.", "")
        self.expect_refused(only_errors, "but not what it does")
        self.expect_refused(HEADER.replace("/* Room for buffers. */\n", ""), '"Memory" does not say what it is for')
        self.expect_refused(HEADER, "examples/manual/memory.c is missing", examples=("results",))
        self.expect_refused(HEADER.replace(" *  5. Five.\n", ""), "there is no convention 5")


class TheTree(unittest.TestCase):
    def test_every_function_is_on_one_page_and_says_what_it_does(self):
        manual = read_manual()
        functions = [name for page in manual.pages for name in page.functions]
        self.assertEqual(len(functions), len(set(functions)))
        declared = (ROOT / "include/ronde/ronde.h").read_text().count("\nRONDE_API ")
        self.assertEqual(len(functions), declared)
        for page in manual.pages:
            for entry in page.entries:
                if entry.block.functions:
                    self.assertTrue(entry.comment.summary, entry.block.functions)


class ManualPages(unittest.TestCase):
    def test_groff_has_nothing_to_say(self):
        with tempfile.TemporaryDirectory(prefix="ronde-manual-") as folder:
            for name, content in roff.files(read_manual()).items():
                if content.startswith(".so "):
                    continue
                path = pathlib.Path(folder) / pathlib.Path(name).name
                path.write_text(content)
            pages = sorted(pathlib.Path(folder).iterdir())
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", *map(str, pages)], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=50)
            self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    if "ManualPages" in sys.argv and shutil.which("groff") is None:
        print("skipped: groff is not installed")
        sys.exit(77)
    unittest.main()
