"""The manual as manual pages, section 3: one for each function or type of the header, and ronde(7) over all of them."""
from manual import inline, opening_of, parameters_of, sentence_of

LAYOUT = ".nh\n.ad l\n"  # names are not cut, lines are not stretched
ESCAPES = (("\\", "\\e"), ("-", "\\-"), ("`", "\\(ga"), ("'", "\\(aq"), ("^", "\\(ha"), ("~", "\\(ti"))


def escaped(text):
    """Text of a line: a dot or quote at its begin would be a request."""
    for character, written in ESCAPES:
        text = text.replace(character, written)
    return text


def line(text):
    return "\\&" + text if text.startswith((".", "'")) else text


def styled(text, parameters=()):
    """A sentence: names of the header bold, other code in italics."""
    written = ""
    for kind, part in inline(text, parameters):
        font = {"name": "B", "code": "I", "plain": ""}[kind]
        written += f"\\f{font}{escaped(part)}\\fP" if font else escaped(part)
    return line(written)


def verbatim(source):
    return ".EX\n" + "".join(line(escaped(text)) + "\n" for text in source.rstrip("\n").split("\n")) + ".EE\n"


def comment_text(comment, parameters=()):
    for part in comment.parts:
        if isinstance(part, str):
            yield f".PP\n{styled(part, parameters)}\n"
        else:
            yield "".join(f".IP \\(bu 3\n{styled(item, parameters)}\n" for item in part)


def errors_text(comment, parameters=()):
    for sentence, errors in comment.error_groups:
        if sentence:
            yield f".PP\n{styled(sentence, parameters)}\n"
        for name, when in errors:
            yield f".TP\n.B {name}\n{styled(when, parameters)}\n"
    if comment.after_errors:
        yield f".PP\n{styled(comment.after_errors, parameters)}\n"


def conventions_text(conventions):
    return "".join(f".IP {number}. 4\n{styled(text)}\n" for number, text in conventions.items())


def references(names, section=3):
    return ",\n".join(f".BR {name} ({section})" for name in names).replace(",\n.BR", " ,\n.BR")


def entry_page(manual, page, entry):
    names = entry.block.names
    parameters = parameters_of(entry)
    summary = sentence_of(entry.comment) or f"of: {page.title}"
    yield f'.TH {names[0]} 3 "" "ronde {manual.header.version}" "Ronde"\n{LAYOUT}'
    yield f".SH NAME\n{', '.join(names)} \\- {escaped(summary)}\n"
    yield ".SH SYNOPSIS\n.nf\n.B #include <ronde/ronde.h>\n.fi\n.PP\n"
    yield verbatim("\n".join(declaration.source for declaration in entry.block.declarations))
    if entry.comment.parts:
        yield ".SH DESCRIPTION\n"
        yield from comment_text(entry.comment, parameters)
    if entry.comment.errors:
        yield ".SH RESULTS\n"
        yield from errors_text(entry.comment, parameters)
    yield f'.SH "{page.title.upper()}"\n'
    yield from comment_text(page.comment)
    yield from errors_text(page.comment)
    yield ".SH CONVENTIONS\n" + conventions_text(page.conventions)
    yield ".SH EXAMPLE\n" + verbatim(page.example_source)
    others = [other.block.names[0] for other in page.entries if other is not entry and other.block.functions]
    yield ".SH SEE ALSO\n.BR ronde (7)" + (" ,\n" + references(others) if others else "") + "\n"


def overview(manual):
    opening = " ".join(manual.header.opening.split("\n\n")[0].split())
    yield f'.TH ronde 7 "" "ronde {manual.header.version}" "Ronde"\n{LAYOUT}'
    yield f".SH NAME\nronde \\- {escaped(opening.split('. ')[0].removeprefix('Ronde: '))}\n"
    yield ".SH SYNOPSIS\n.nf\n.B #include <ronde/ronde.h>\n.fi\n"
    yield f".SH DESCRIPTION\n{styled(opening)}\n"
    for page in manual.pages:
        yield f".SS {page.title}\n{styled(opening_of(page.comment))}.\n"
        for entry in page.entries:
            if entry.block.functions:
                yield f".TP\n.B {', '.join(entry.block.functions)}\n{styled(sentence_of(entry.comment))}\n"
    yield ".SH CONVENTIONS\n" + conventions_text(manual.header.conventions)


def files(manual):
    """File names, with the folder of their section, and contents."""
    pages = {"man7/ronde.7": "".join(overview(manual))}
    for page in manual.pages:
        for entry in page.entries:
            names = entry.block.names
            if names[0].startswith("RONDE_"):  # macros alone stand with the types and functions that need them
                continue
            pages[f"man3/{names[0]}.3"] = "".join(entry_page(manual, page, entry))
            for other in names[1:]:
                pages[f"man3/{other}.3"] = f".so man3/{names[0]}.3\n"
    return pages
