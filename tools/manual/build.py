#!/usr/bin/env python3
"""Writes the manual from the public header and the examples of examples/manual.

usage: build.py            writes docs/manual
       build.py --check    changes nothing; exit code 1 and a line for each page that is not what would be written
       build.py --man DIR  writes manual pages (troff) to DIR/man3 and DIR/man7 instead

The header is the only source of what the pages say: tools/manual/header.py tells what shape it must have.
"""
import argparse
import pathlib
import sys

import markdown
import roff
from header import HeaderError
from manual import HEADER, ROOT, read_manual

PAGES = "docs/manual"


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def differences(root, files):
    """A line for each page that differs, is missing, or belongs to nothing any more."""
    folder = root / PAGES
    there = {path.name: path.read_text() for path in folder.glob("*.md")}
    for name in sorted(files.keys() | there.keys()):
        if name not in files:
            yield f"{PAGES}/{name} belongs to no section of {HEADER} any more"
        elif name not in there:
            yield f"{PAGES}/{name} is missing"
        elif files[name] != there[name]:
            yield f"{PAGES}/{name} is not what {HEADER} says"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="change nothing, fail where something would change")
    parser.add_argument("--man", type=pathlib.Path, metavar="DIR", help="write manual pages to this folder instead")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="of the tree")
    arguments = parser.parse_args()
    try:
        manual = read_manual(arguments.root)
    except HeaderError as error:
        print(f"manual: {error}", file=sys.stderr)
        return 1
    if arguments.man:
        write(arguments.man, roff.files(manual))
        return 0
    files = markdown.files(manual)
    found = list(differences(arguments.root, files))
    if arguments.check:
        for text in found:
            print(text)
        if found:
            print("run: python3 tools/manual/build.py, and commit what it writes")
        return 1 if found else 0
    folder = arguments.root / PAGES
    for path in folder.glob("*.md"):
        if path.name not in files:
            path.unlink()
    write(folder, files)
    print(f"manual: {len(manual.pages)} pages in {PAGES}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
