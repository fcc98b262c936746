"""Compares docs/nccl.md with ronde.h, and with nccl.h where version 2.28 of it is at hand.

    nccl_table_test.py DOCUMENT RONDE_H [NCCL_H]

Every function of ronde.h stands in one table, beside one of NCCL's or among "Ronde only"; no table names what the
header does not have; counterparts have the same name, and equal numbers. Of nccl.h: every function stands in the first
table, and every type, macro and field of the config somewhere.
"""
import pathlib
import re
import sys

OTHER_NAMES = {"ncclCommCuDevice": "rondeCommDevice", "ncclGetPeerDevicePointer": "rondeGetPeerPointer"}


def tables_of(document):
    """Heading of each table's section -> its rows, each a list of cells; headings of columns are the first row."""
    tables = {}
    heading = ""
    for line in document.splitlines():
        if line.startswith("#"):
            heading = line.strip("# ")
        elif line.startswith("|") and not line.startswith("|---"):
            tables.setdefault(heading, []).append([cell.strip() for cell in line.strip("|").split("|")])
    return tables


def functions_of(header, prefix):
    return set(re.findall(rf"\b({prefix}[A-Z]\w*)\(", without_comments(header)))


def without_comments(header):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", header, flags=re.DOTALL)


def names_in(cell, prefix):
    return re.findall(rf"\b(?:{prefix}[A-Z]\w*|{prefix.upper()}_[A-Z_]+\w*)\b", cell)


def values_of(header, prefix):
    """Name without prefix -> number, of enum members and of macros that are one number."""
    code = without_comments(header)
    pairs = re.findall(rf"\b{prefix}([A-Z]\w*)\s*=\s*(0x[0-9a-f]+|\d+)", code)
    pairs += re.findall(rf"#define {prefix.upper()}_(\w+)[ \t]+(-?(?:0x)?[0-9a-f]+)[ \t]*$", code, re.MULTILINE)
    return {name: int(value, 0) for name, value in pairs}


def check_ronde(tables, ronde):
    functions = functions_of(ronde, "ronde")
    beside, only = set(), set()
    for row in tables["Functions"]:
        nccl, other = row[0], row[-2]
        if not nccl.startswith("nccl"):
            continue
        found = names_in(other, "ronde")
        if found:
            expected = OTHER_NAMES.get(nccl, nccl.replace("nccl", "ronde", 1))
            if found != [expected]:
                yield f"{nccl} stands beside {other}, not {expected}"
            beside |= set(found)
        elif other != "none" or not row[-1]:
            yield f"{nccl} has neither a counterpart nor a reason why it has none"
    for row in tables["Ronde only"][1:]:
        only |= set(names_in(row[0], "ronde"))
    for name in sorted(functions - beside - only):
        yield f"{name} of ronde.h is in no table"
    for name in sorted((beside | only) - functions):
        yield f"{name} is in a table, and not a function of ronde.h"
    for name in sorted(beside & only):
        yield f"{name} is in both tables"
    types = tables["Types, numbers and macros"]
    for row in types:
        for name in names_in(row[1], "ronde"):
            if not re.search(rf"\b{name}\b", without_comments(ronde)):
                yield f"{name} is not in ronde.h"
    fields = fields_of(ronde, "ronde")
    told = {word for row in types for word in re.findall(r"\w+", row[1])}
    for name in sorted(fields - {"size", "magic", "version"} - told):
        yield f"field {name} of rondeConfig_t is in no table"


def fields_of(header, prefix):
    body = re.search(rf"typedef struct[ \w]*\{{([^}}]*)\}} {prefix}Config_t;", without_comments(header))[1]
    return set(re.findall(r"(\w+);", body))


def check_nccl(tables, document, nccl, ronde):
    functions = functions_of(nccl, "nccl")
    told = {row[0] for row in tables["Functions"]}
    for name in sorted(functions - told):
        yield f"{name} of nccl.h is in no table"
    others = set(re.findall(r"\b(NCCL_[A-Z_]+)\b", re.sub(r"#(?:ifndef|define) NCCL_H_", "", without_comments(nccl))))
    others |= set(re.findall(r"\bnccl\w+_t\b", without_comments(nccl))) - {"ncclRedOp_dummy_t"}
    for name in sorted(others | fields_of(nccl, "nccl")):
        if not re.search(rf"\b{name}\b", document):
            yield f"{name} of nccl.h is not told of"
    its, ours = values_of(nccl, "nccl"), values_of(ronde, "ronde")
    for name in sorted(set(its) & set(ours) - {"MAJOR", "MINOR", "PATCH"}):
        if its[name] != ours[name]:
            yield f"{name} is {its[name]} in nccl.h, and {ours[name]} in ronde.h"
    if len(set(its) & set(ours)) < 40:
        yield "hardly any numbers were compared"


def main():
    document, ronde = (pathlib.Path(path).read_text(encoding="utf-8") for path in sys.argv[1:3])
    tables = tables_of(document)
    wrong = list(check_ronde(tables, ronde))
    nccl = pathlib.Path(sys.argv[3]).read_text(encoding="utf-8") if len(sys.argv) > 3 else ""
    if re.search(r"^#define NCCL_MAJOR 2\n#define NCCL_MINOR 28$", nccl, re.MULTILINE):
        wrong += check_nccl(tables, document, nccl, ronde)
        print("compared with nccl.h 2.28, too")
    for line in wrong:
        print(f"wrong: {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
