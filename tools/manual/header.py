"""Reads a C header of this project into sections, blocks and declarations.

The shape that it relies on:

 - "/* ---- Title ---- */" begins a section.
 - A comment with a blank line after it belongs to the section. A comment right above declarations belongs to them, down
   to the next blank line or comment: that is a block.
 - Every function has such a comment. Types and macros may go without.
 - The comment at the top of the file holds numbered conventions.
"""
import dataclasses
import re

SECTION = re.compile(r"/\* ---- (.+?) -+ \*/$")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
ENUMERATOR = re.compile(r"^\s*(\w+)(?: = \w+)?,?(?:\s*/\* (.*?) \*/)?$", re.MULTILINE)


class HeaderError(Exception):
    """What is wrong with the header, with its place."""


@dataclasses.dataclass
class Declaration:
    source: str  # as a reader should see it
    names: list  # of what it declares: one, or several enumerators' type and the like
    is_function: bool = False
    parameters: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Block:
    comment: str
    line: int
    declarations: list = dataclasses.field(default_factory=list)

    @property
    def functions(self):
        return [name for declaration in self.declarations if declaration.is_function for name in declaration.names]

    @property
    def names(self):
        """What the block is called by: its functions, else its types, else its macros."""
        types = [name for declaration in self.declarations if not declaration.source.startswith("#")
                 for name in declaration.names]
        return self.functions or types or [name for declaration in self.declarations for name in declaration.names]


@dataclasses.dataclass
class Section:
    title: str
    comment: str = ""
    blocks: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Header:
    opening: str  # the comment at the top, without its frame and without the conventions
    conventions: dict  # number to text
    sections: list
    results: dict  # name of a result to its meaning, as the enumeration says it
    version: str


def unframed(comment):
    """The text of a comment, line by line, without the stars."""
    lines = comment.removeprefix("/*").removesuffix("*/").split("\n")
    return "\n".join(re.sub(r"^ \*( |$)", "", line).rstrip() for line in lines).strip()


def without_comments(source):
    return COMMENT.sub(lambda match: " " * len(match.group()), source)


def shown(source):
    """A declaration without what a reader need not know: the export mark, the bodies of long macros."""
    if source.startswith("#"):
        return source.split("\\\n")[0].rstrip() + (" ..." if "\\\n" in source else "")
    mark = "RONDE_API "
    if source.startswith(mark):
        source = re.sub(r"\n {%d}" % len(mark), "\n", source.removeprefix(mark))
    return source


def declaration_of(source, line):
    code = without_comments(source)
    if source.startswith("#"):
        return Declaration(shown(source), [re.match(r"#define (\w+)", source).group(1)])
    if code.startswith("RONDE_API"):
        function = re.search(r"(\w+)\((.*)\);$", code, re.DOTALL)
        if function is None:
            raise HeaderError(f"line {line}: not a function: {source}")
        parameters = re.findall(r"(\w+)(?:\[\])?(?:,|$)", function.group(2))
        return Declaration(shown(source), [function.group(1)], True, [name for name in parameters if name != "void"])
    name = re.search(r"\(\*(\w+)\)\(", code) or re.search(r"(\w+);$", code)
    if not code.startswith("typedef") or name is None:
        raise HeaderError(f"line {line}: neither a function nor a typedef: {source}")
    return Declaration(shown(source), [name.group(1)])


def length_of_declaration(text, begin):
    """Up to the semicolon outside of all braces, or to the end of the line of a macro."""
    if text[begin] == "#":
        return re.compile(r"(?:[^\n]*\\\n)*[^\n]*").match(text, begin).end() - begin
    code = without_comments(text[begin:])
    depth = 0
    for position, character in enumerate(code):
        depth += (character in "{(") - (character in ")}")
        if character == ";" and depth == 0:
            return position + 1
    raise HeaderError(f"line {text.count(chr(10), 0, begin) + 1}: a declaration does not end")


def pieces(text, begin, end):
    """Comments and declarations with their lines, and whether a blank line stands after each."""
    position = begin
    while True:
        position = re.compile(r"\s*").match(text, position).end()
        if position >= end:
            return
        comment = COMMENT.match(text, position)
        length = len(comment.group()) if comment else length_of_declaration(text, position)
        source = text[position:position + length]
        line = text.count("\n", 0, position) + 1
        position += length
        yield source, line, re.match(r"[ \t]*\n[ \t]*\n", text[position:]) is not None


def sections_of(text, begin, end):
    sections = []
    block = None  # the one that the next declaration joins
    for source, line, blank_after in pieces(text, begin, end):
        title = SECTION.match(source)
        if title:
            sections.append(Section(title.group(1)))
            block = None
        elif source.startswith("/*"):
            if blank_after:
                section = sections[-1]
                section.comment = f"{section.comment}\n\n{unframed(source)}".strip()
                block = None
            else:
                block = Block(unframed(source), line)
        else:
            if block is None:
                block = Block("", line)
            if not block.declarations:
                sections[-1].blocks.append(block)
            block.declarations.append(declaration_of(source, line))
            if block.functions and not block.comment:
                raise HeaderError(f"line {line}: {block.functions[0]} has no comment that says what it does")
            if blank_after:
                block = None
    return sections


def conventions_of(opening):
    """What stands before the numbered conventions, and the conventions by their numbers."""
    parts = re.split(r"^ *(\d+)\. ", opening, flags=re.MULTILINE)
    texts = [" ".join(text.split()) for text in parts[2::2]]
    return parts[0].strip(), dict(zip(map(int, parts[1::2]), texts))


def read_header(text):
    opening, conventions = conventions_of(unframed(COMMENT.match(text).group()))
    begin = re.search(r"^/\* ---- ", text, re.MULTILINE)
    end = text.rfind("#ifdef __cplusplus")
    if begin is None or end < begin.start():
        raise HeaderError("there is no section, or no end of extern \"C\"")
    sections = sections_of(text, begin.start(), end)
    results = {}
    for section in sections:
        for block in section.blocks:
            for declaration in block.declarations:
                if declaration.names == ["rondeResult_t"]:
                    results = {name: meaning for name, meaning in ENUMERATOR.findall(declaration.source)
                               if name != "rondeNumResults"}
    if not results:
        raise HeaderError("there is no enumeration rondeResult_t")
    version = ".".join(re.search(rf"#define RONDE_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH"))
    return Header(opening, conventions, sections, results, version)
