"""The manual as Markdown: one page a section of the header, and an index."""
import re

from manual import EXAMPLES, HEADER, ROOT, inline, opening_of, parameters_of, sentence_of

NOTE = f"<!-- Written by tools/manual/build.py from {HEADER} and {EXAMPLES}. Change those, not this. -->\n"
LINKED_FILE = re.compile(r"\b(?:examples/\w+\.c|README\.md)")


def escaped(text):
    return re.sub(r"([*_<>\[\]|`\\])", r"\\\1", text)


class Writer:
    """Writes one page; knows on which one it is, for links."""

    def __init__(self, manual, page=None, entry=None):
        self.manual = manual
        self.page = page
        self.entry = entry

    def name(self, name):
        page, entry = self.manual.place.get(name, (None, None))
        if page is None or (entry is self.entry and self.entry is not None):
            return f"`{name}`"
        file = "" if page is self.page else f"{page.name}.md"
        return f"[`{name}`]({file}#{anchor(entry)})"

    def text(self, text):
        parameters = parameters_of(self.entry) if self.entry else ()
        written = ""
        for kind, part in inline(text, parameters):
            if kind == "name":
                written += self.name(part)
            elif kind == "code":
                written += f"`{part}`"
            else:
                written += LINKED_FILE.sub(lambda match: f"[{match.group()}](../../{match.group()})", escaped(part))
        return written

    def comment(self, comment):
        """Paragraphs and lists."""
        for part in comment.parts:
            if isinstance(part, str):
                yield self.text(part) + "\n"
            else:
                yield "".join(f"- {self.text(item)}\n" for item in part)

    def errors(self, comment):
        for sentence, errors in comment.error_groups:
            if sentence:
                yield self.text(sentence) + "\n"
            rows = "".join(f"| {self.name(name)} | {self.text(when)} |\n" for name, when in errors)
            if rows:
                yield f"| result | when |\n|---|---|\n{rows}"
        if comment.after_errors:
            yield self.text(comment.after_errors) + "\n"


def anchor(entry):
    """As the heading of the entry becomes one."""
    return "-".join(name.lower() for name in entry.block.names)


def entry_text(manual, page, entry):
    writer = Writer(manual, page, entry)
    yield f"## {', '.join(entry.block.names)}\n"
    yield "```c\n" + "\n".join(declaration.source for declaration in entry.block.declarations) + "\n```\n"
    yield from writer.comment(entry.comment)
    yield from writer.errors(entry.comment)


def conventions_text(manual, page, conventions):
    writer = Writer(manual, page)
    return "".join(f"- **{number}.** {writer.text(text)}\n" for number, text in conventions.items())


def page_text(manual, page):
    writer = Writer(manual, page)
    yield NOTE
    yield f"# {page.title}\n"
    yield from writer.comment(page.comment)
    yield from writer.errors(page.comment)
    functions = [entry for entry in page.entries if entry.block.functions]
    if functions:
        rows = "".join(f"| {', '.join(writer.name(name) for name in entry.block.functions)} "
                       f"| {Writer(manual, page, entry).text(sentence_of(entry.comment))} |\n" for entry in functions)
        yield f"| function | |\n|---|---|\n{rows}"
    yield "Example: [below](#example). All functions: [index](README.md).\n"
    for entry in page.entries:
        yield from entry_text(manual, page, entry)
    yield "## Conventions\n"
    yield f"Of those at the head of [ronde.h](../../{HEADER}), these concern what stands here:\n"
    yield conventions_text(manual, page, page.conventions)
    yield "## Example\n"
    yield f"[{page.example}](../../{page.example}), which the tests build and run:\n"
    yield f"```c\n{page.example_source}```\n"


def index_text(manual):
    writer = Writer(manual)
    yield NOTE
    yield "# Manual of the C API\n"
    yield writer.text(manual.header.opening.split("\n\n")[0]) + "\n"
    yield "In C++20: [ronde.hpp](../cpp.md).\n"
    rows = "".join(f"| [{page.title}]({page.name}.md) | {writer.text(opening_of(page.comment))} |\n"
                   for page in manual.pages)
    yield f"| page | |\n|---|---|\n{rows}"
    yield "## Conventions\n"
    yield conventions_text(manual, None, manual.header.conventions)
    yield "## Functions\n"
    entries = {name: entry for page in manual.pages for entry in page.entries for name in entry.block.functions}
    rows = "".join(f"| {writer.name(name)} | {writer.text(sentence_of(entries[name].comment))} |\n"
                   for name in sorted(entries))
    yield f"| function | |\n|---|---|\n{rows}"


def files(manual):
    """File names and contents."""
    pages = {f"{page.name}.md": "\n".join(page_text(manual, page)) for page in manual.pages}
    return {"README.md": "\n".join(index_text(manual)), **pages}
