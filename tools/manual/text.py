"""What a comment of the header says: paragraphs, lists, and which error means what.

Errors are told in two ways, and both become rows of a table:

 - a paragraph "Errors: rondeX (when), rondeY (when), and those of collectives. More text."
 - a sentence "rondeX: when."
"""
import dataclasses
import re

# A line that ends before this column, where the next word would still have had room, ends its paragraph.
SHORT_LINE = 100
LONG_SUMMARY = 160
RESULT = r"ronde[A-Z]\w+"
IN_BRACKETS = r"\(((?:[^()]|\([^()]*\))*)\)"


@dataclasses.dataclass
class Comment:
    parts: list = dataclasses.field(default_factory=list)  # paragraphs (str) and lists (list of str)
    errors: list = dataclasses.field(default_factory=list)  # pairs: name of a result or "", and when it is returned
    after_errors: str = ""  # what stands behind the list of errors

    @property
    def summary(self):
        """The first statement, without its full stop; where it is long, up to its colon."""
        first = next((part for part in self.parts if isinstance(part, str)), "")
        whole = first[:end_of_statement(first, ".;")].removesuffix(":")
        return whole if len(whole) <= LONG_SUMMARY else whole[:end_of_statement(whole, ":")]

    @property
    def error_groups(self):
        """The errors as pairs: a sentence, and the rows behind it. The first may be without one, others without rows."""
        groups = []
        for name, when in self.errors:
            if not name:
                groups.append((sentence_of_errors(when, bool(groups)), []))
                continue
            if not groups:
                groups.append(("", []))
            sentence, rows = groups[-1]
            if sentence.endswith("."):
                groups[-1] = (sentence[:-1] + ", and:", rows)
            rows.append((name, when))
        return groups


def sentence_of_errors(text, more):
    """Of what stands in a list of errors without the name of one; more: there were others before."""
    if text.startswith("those "):
        text = "the errors " + text.removeprefix("those ")
    elif text.startswith("as ") and more:
        return f"Otherwise {text}."
    sentence = f"Also {text}" if more else text[:1].upper() + text[1:]
    return sentence if sentence.endswith(":") else sentence + "."


def end_of_statement(text, marks):
    """Where the first of the marks stands that is in no brackets and ends a word."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character in marks and re.match(r"\s|$", text[position + 1:]):
            return position
    return len(text)


def ends_paragraph(line, next_line):
    words = next_line.split()
    if not words or words[0] == "Errors:":
        return True
    return re.search(r"[.:]$", line) is not None and len(line) + 1 + len(words[0]) <= SHORT_LINE


def parts_of(text):
    """Paragraphs as strings, lists as lists of strings."""
    parts = []
    lines = text.split("\n")
    open_item = None  # how far the text of the list item is indented that is being read
    for number, line in enumerate(lines):
        item = re.match(r"( *)- (.*)", line)
        indented = len(line) - len(line.lstrip())
        previous = lines[number - 1] if number else ""
        if item:
            if open_item is None:
                parts.append([])
            parts[-1].append(item.group(2))
            open_item = len(item.group(1)) + 2
        elif open_item is not None and line.strip() and indented >= open_item:
            parts[-1][-1] += " " + line.strip()
        elif line.strip():
            if not previous.strip() or open_item is not None or ends_paragraph(previous, line):
                parts.append(line.strip())
            else:
                parts[-1] += " " + line.strip()
            open_item = None
    return parts


def sentences_of(paragraph):
    """Split where a full stop outside of brackets is followed by a capital letter, or by a result and a colon."""
    sentences = []
    depth = begin = 0
    for position, character in enumerate(paragraph):
        depth += (character == "(") - (character == ")")
        rest = paragraph[position + 1:]
        if character == "." and depth == 0 and re.match(rf" (?:[A-Z*]|{RESULT}[:,]|ronde\w+)", rest):
            sentences.append(paragraph[begin:position + 1].strip())
            begin = position + 1
    sentences.append(paragraph[begin:].strip())
    return [sentence for sentence in sentences if sentence]


def split_outside_brackets(text, separator):
    """Splits where the expression matches and no bracket is open."""
    found = []
    begin = 0
    for match in re.finditer(separator, text):
        before = text[:match.start()]
        if before.count("(") == before.count(")"):
            found.append(text[begin:match.start()])
            begin = match.end()
    found.append(text[begin:])
    return found


def rows_of_item(item, results):
    """One entry of a list of errors: the result and when it is returned; and what else hangs on to it."""
    item = item.strip().removeprefix("and ")
    name = re.match(RESULT, item)
    if name is None:
        leading = re.match(rf"(.*?): ({RESULT}.*)$", item)
        if leading and re.match(RESULT, leading.group(2)).group() in results:
            return [("", leading.group(1) + ":"), *rows_of_item(leading.group(2), results)]
        return [("", item)]
    rest = item[name.end():]
    bracketed = re.match(rf" {IN_BRACKETS}(.*)$", rest)
    if bracketed:
        more = bracketed.group(2).lstrip(", ")
        return [(name.group(), bracketed.group(1)), *(rows_of_item(more, results) if more else [])]
    return [(name.group(), rest.lstrip(": ") or results.get(name.group(), ""))]


def rows_of_list(text, results):
    names = "|".join(results)
    rows = []
    for part in split_outside_brackets(text.removesuffix("."), "; "):
        if re.match(rf"(?:{names}): ", part):
            rows.append(tuple(part.split(": ", 1)))
            continue
        for item in split_outside_brackets(part, rf",? and (?=(?:{names})\b)|, (?=(?:{names})\b)|, and (?=those )"):
            rows += rows_of_item(item, results)
    return rows


def row_of_sentence(sentence, results):
    """Of "rondeX: when." or "rondeX, and nothing is freed: when."; None for another sentence."""
    match = re.match(rf"({RESULT})(, [^:.]*)?: (.*)$", sentence)
    if match is None or match.group(1) not in results:
        return None
    when = match.group(3).removesuffix(".")
    consequence = match.group(2) or ""
    return match.group(1), when + consequence if consequence.startswith(", and ") else when


def read_comment(text, results):
    """results: the names of all results with their meanings, which stand where a list gives no reason."""
    comment = Comment()
    for part in parts_of(text):
        if isinstance(part, list):
            comment.parts.append(part)
            continue
        prose = []
        sentences = sentences_of(part)
        if part.startswith("Errors: "):
            comment.errors += rows_of_list(sentences[0].removeprefix("Errors: "), results)
            sentences = sentences[1:]
        for sentence in sentences:
            row = row_of_sentence(sentence, results)
            if row:
                comment.errors.append(row)
            else:
                prose.append(sentence)
        if part.startswith("Errors: "):
            comment.after_errors = " ".join(prose)
        elif prose:
            comment.parts.append(" ".join(prose))
    return comment
