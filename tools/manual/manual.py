"""The manual as both forms of it need it: pages with their conventions and examples, and where each name stands."""
import dataclasses
import pathlib
import re

from header import HeaderError, read_header
from text import Comment, read_comment

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = "include/ronde/ronde.h"
EXAMPLES = "examples/manual"

# Of sections: the file name where it is not the title, and the conventions of the header that concern it. A convention
# that stands with none of them concerns all.
FILE_NAMES = {"Reductions of the program's own": "reductions", "Messages between two ranks": "messages",
              "Events and host functions": "events", "Communicators from others": "split-and-grow"}
CONVENTIONS = {
    "Types": (1, 2, 7),
    "Version and errors": (2, 4, 6),
    "Log": (2, 8),
    "Meeting": (2, 9, 10),
    "Communicators": (2, 4, 6, 9, 10),
    "Failures": (3, 4, 6),
    "Communicators from others": (2, 3, 4, 6),
    "Questions": (2, 4),
    "Memory": (2, 4, 5, 9),
    "Streams": (2, 4, 5, 6),
    "Events and host functions": (2, 4, 5),
    "Groups": (3, 4, 5, 6),
    "Collectives": (3, 4, 5, 6, 7),
    "Reductions of the program's own": (2, 3, 4),
    "Messages between two ranks": (4, 5, 6, 7),
}
OTHER_CONVENTIONS = (2, 4, 5)  # of a section that is not listed yet
LISTED_CONVENTIONS = {number for numbers in CONVENTIONS.values() for number in numbers}

# Parameters that are also words of the language, and stand as such in sentences.
ORDINARY_WORDS = set("""capacity color commutative count device devices event flags function id ids key level number op
                        peer rank ranks residence result root scalar size stat stream text user value version world
                        callback traffic datatype bytes memory buffer window""".split())


@dataclasses.dataclass
class Entry:
    """A block of the header: some declarations with one comment."""
    block: object
    comment: Comment


@dataclasses.dataclass
class Page:
    title: str
    name: str  # of its files, without an ending
    comment: Comment
    entries: list
    conventions: dict
    example: str  # path from the root
    example_source: str

    @property
    def functions(self):
        return [name for entry in self.entries for name in entry.block.functions]


@dataclasses.dataclass
class Manual:
    header: object
    pages: list
    place: dict  # a name of the header to its page and its entry


def page_of(section, header, root):
    name = FILE_NAMES.get(section.title, re.sub(r"\W+", "-", section.title.lower()))
    if not section.comment:
        raise HeaderError(f'{HEADER}: the section "{section.title}" does not say what it is for: a comment after its '
                          "title, with a blank line behind it")
    numbers = CONVENTIONS.get(section.title, OTHER_CONVENTIONS)
    missing = [number for number in numbers if number not in header.conventions]
    if missing:
        raise HeaderError(f"{HEADER}: there is no convention {missing[0]}, which {section.title} needs")
    example = f"{EXAMPLES}/{name.replace('-', '_')}.c"
    if not (root / example).is_file():
        raise HeaderError(f'the page of "{section.title}" has no example: {example} is missing')
    entries = [Entry(block, read_comment(block.comment, header.results)) for block in section.blocks]
    for entry in entries:
        if entry.block.functions and not entry.comment.summary:
            raise HeaderError(f"{HEADER}:{entry.block.line}: the comment of {entry.block.functions[0]} says which "
                              "errors it has, but not what it does")
    numbers = sorted({*numbers, *(header.conventions.keys() - LISTED_CONVENTIONS)})
    return Page(section.title, name, read_comment(section.comment, header.results), entries,
                {number: header.conventions[number] for number in numbers}, example, (root / example).read_text())


def read_manual(root=ROOT):
    header = read_header((root / HEADER).read_text())
    pages = [page_of(section, header, root) for section in header.sections]
    place = {}
    for page in pages:
        for entry in page.entries:
            for declaration in entry.block.declarations:
                for name in declaration.names:
                    place[name] = (page, entry)
    return Manual(header, pages, place)


OPERAND = r"\*?\w+(?:\[[^\]]+\])?"
CODE = re.compile(rf"(?P<sum>(?!\d)\b{OPERAND}(?: (?:==|=|\+|\*) {OPERAND})+(?![\w\[^]))"
                  r"|(?P<call>\b[a-z]\w*\(\w+(?:, \w+)+\))"
                  r"|(?P<name>\b(?:ronde[A-Z]|RONDE_|nccl[A-Z])\w+)"
                  r"|(?P<element>\b\w+\[[^\]]+\])"
                  r"|(?P<word>\*?\b[A-Za-z_]\w*\b)")


def inline(text, parameters=()):
    """A sentence in parts: pairs of "code", "name" (of the header) or "plain", and the text."""
    position = 0
    for match in CODE.finditer(text):
        kind = match.lastgroup
        if kind == "word":
            word = match.group().lstrip("*")
            if word not in parameters or (word in ORDINARY_WORDS and not match.group().startswith("*")):
                continue
        if match.start() > position:
            yield "plain", text[position:match.start()]
        yield ("name" if kind == "name" else "code"), match.group()
        position = match.end()
    if position < len(text):
        yield "plain", text[position:]


def parameters_of(entry):
    return {name for declaration in entry.block.declarations for name in declaration.parameters}


def sentence_of(comment, length=150):
    """What something is in one line, for tables."""
    summary = comment.summary
    if len(summary) > length:
        summary = re.sub(r" \([^()]*\)", "", summary)
    return summary


def opening_of(comment):
    """The first sentence of a section, whole."""
    return next(part for part in comment.parts if isinstance(part, str)).split(". ")[0].removesuffix(".")
