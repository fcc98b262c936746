"""Compares what ronde.h says each function can return with what the C program (api_c) has observed.

    errors_test.py HEADER FOLDER    FOLDER: what the parts of api_c wrote, a file each: lines "FUNCTION RESULT"

A function's results are those that its comment names, those of what its comment refers to (REFERENCES), and those of
the general rules of the header (convention 11, streams). Fails, with names, if one of them was not observed, or one
was observed that the header does not tell of.
"""
import pathlib
import re
import sys

RESULT = re.compile(r"\bronde[A-Z]\w*\b")  # among other names

# Where a comment refers to the results of others: its words, and whose results. "all ranks": the errors that concern
# all ranks (convention 6); "collectives": the rules at the head of their section.
REFERENCES = {
    "rondeCommInitRankConfig": [("rondeCommInitRank with settings", "rondeCommInitRank")],
    "rondeCommInitRankScalable": [("Otherwise as with one id", "rondeCommInitRankConfig")],
    "rondeCommFinalize": [("Returns the first error that the communicator met", "all ranks")],
    "rondeCommShrink": [("Non-blocking and in groups as rondeCommInitRankConfig", "in progress")],
    "rondeCommSplit": [("those of collectives", "collectives"),
                       ("Non-blocking and in groups as rondeCommInitRankConfig", "in progress")],
    "rondeCommDup": [("Otherwise as rondeCommSplit", "rondeCommSplit")],
    "rondeCommGrow": [("as rondeCommSplit", "rondeCommSplit")],
    "rondeCommGetUniqueId": [("what comm has met", "all ranks")],
    "rondeStreamSynchronize": [("Returns the first error of those operations", "all ranks")],
    "rondeStreamQuery": [("an error as from rondeStreamSynchronize", "all ranks")],
    "rondeStreamDestroy": [("Synchronizes and frees the stream", "all ranks")],
    "rondeGroupEnd": [("the first error of its calls", "all ranks"),
                      ("the first error of its calls", "rondeCommInitRank")],
    "rondeCommWindowRegister": [("those of collectives", "collectives")],
    "rondeSend": [("Errors: those of collectives", "collectives")],
    "rondeRecv": [("Errors: those of collectives", "collectives")],
}
# Results that a comment names and the function does not return.
SPOKEN_OF = {
    ("rondeCommAbort", "rondeAborted"): "what the calls return that it interrupts",
    ("rondeCommRevoke", "rondeRevoked"): "what operations return after it",
    ("rondeCommGetFailedRanks", "rondePeerLost"): "what an operation returned before",
    ("rondeCommGetAsyncError", "rondeInProgress"): "what it writes",
}
# What even a forked child may call, as it is about nothing but its arguments.
OF_ARGUMENTS_ALONE = {"rondeGetVersion", "rondeUniqueIdToText", "rondeUniqueIdFromText"}
# Communicators that are not ready do not stop these.
WHILE_IT_STARTS = {"rondeCommGetAsyncError", "rondeCommAbort", "rondeCommDestroy", "rondeCommDeregister",
                   "rondeCommWindowDeregister"}
# These put nothing on the stream that they are given.
OF_STREAMS = {"rondeStreamSynchronize", "rondeStreamQuery", "rondeStreamDestroy"}
# The header tells of them, and no test can bring them about.
EXEMPT = {
    ("any function", "rondeUnhandledCudaError"): "a CUDA call failed: this build has no devices",
    ("any function", "rondeInternalError"): "a fault of the library",
    ("rondeStreamWaitEvent", "rondeSystemError"): "an event to wait for has already started the thread of the streams; "
                                                  "what is left is that memory is at an end",
}


class Header:
    def __init__(self, text):
        self.comments = {}  # of each function
        self.parameters = {}
        self.sections = {}
        self.texts = set()  # functions that return no result
        self.results = re.findall(r"^  (ronde\w+) = \d+", re.search(r"typedef enum \{(.*?)\} rondeResult_t", text,
                                                                    re.DOTALL)[1], re.MULTILINE)
        self.of_all_ranks = set(re.findall(r"^  (ronde\w+) = 1\d\d\b", text, re.MULTILINE)) & set(self.results)
        self.of_all_ranks.add("rondeRemoteError")
        self.results = set(self.results) - {"rondeNumResults"}
        self.all_comments = re.findall(r"^/\*.*?\*/", text, re.DOTALL | re.MULTILINE)
        section = comment = ""
        for match in re.finditer(r"^/\* ---- (.*?) -+ \*/$|^(/\*.*?\*/)$|^RONDE_API (.*?) ?(ronde\w+)\((.*?)\);", text,
                                 re.DOTALL | re.MULTILINE):
            if match[1]:
                section = match[1]
            elif match[2]:
                comment = plain(match[2])
            else:
                function = match[4]
                self.comments[function] = comment
                self.sections[function] = section
                self.parameters[function] = plain(match[5])
                if match[3] != "rondeResult_t":
                    self.texts.add(function)

    def of_comment(self, function):
        found = {name for name in RESULT.findall(self.comments[function]) if name in self.results}
        return {name for name in found if (function, name) not in SPOKEN_OF}

    def of_section(self, begin):
        comment = next(comment for comment in map(plain, self.all_comments) if comment.startswith(begin))
        return {name for name in RESULT.findall(comment) if name in self.results}

    def referred(self, target):
        if target == "all ranks":
            return self.of_all_ranks
        if target == "collectives":
            return self.of_section("Rules for all of them")
        if target == "in progress":
            return {"rondeInProgress"}
        return self.documented(target)

    def documented(self, function):
        """Without those that convention 11 names for memory that is at an end."""
        if function in self.texts:
            return {"rondeSuccess"}
        parameters = self.parameters[function]
        found = {"rondeSuccess"} | self.of_comment(function)
        if "rondeComm_t comm" in parameters and function not in WHILE_IT_STARTS and function != "rondeGetLastError":
            found.add("rondeInProgress")
        if re.search(r"\*|rondeComm_t |rondeStream_t |rondeEvent_t ", parameters) and "Callback" not in function:
            found.add("rondeInvalidArgument")
        if function not in OF_ARGUMENTS_ALONE:
            found.add("rondeInvalidUsage")
        if "rondeStream_t stream" in parameters and function not in OF_STREAMS:
            found.add("rondeSystemError")
        if self.sections[function] == "Collectives":
            found |= self.of_section("Rules for all of them")
        for _, target in REFERENCES.get(function, []):
            found |= self.referred(target)
        return found - {result for name, result in SPOKEN_OF if name == function}


def plain(comment):
    """A comment's words, or a list of parameters, on one line."""
    return " ".join(re.sub(r"^ ?/?\*+/?|\*/$", " ", line) for line in comment.split("\n")).replace("  ", " ").strip()


def words(text):
    return " ".join(text.split())


def stale(header):
    """What the tables above name and the header no longer has."""
    for function, references in REFERENCES.items():
        for phrase, _ in references:
            if phrase not in words(header.comments.get(function, "")):
                yield f"the comment of {function} does not say \"{phrase}\" any more (REFERENCES)"
    for function, result in SPOKEN_OF:
        if result not in header.comments.get(function, ""):
            yield f"the comment of {function} does not speak of {result} any more (SPOKEN_OF)"
    for function in OF_ARGUMENTS_ALONE | WHILE_IT_STARTS | OF_STREAMS:
        if function not in header.comments:
            yield f"{function} is not a function of the header any more"


def observed_in(folder):
    """Pairs; and results that a part could not bring about here, for want of rights."""
    pairs = set()
    for path in sorted(pathlib.Path(folder).glob("*.observed")):
        pairs |= {tuple(line.split()) for line in path.read_text(encoding="utf-8").splitlines()}
    skipped = {result for word, result in pairs if word == "skipped"}
    return {pair for pair in pairs if pair[0] != "skipped"}, skipped


def compare(header, pairs, skipped):
    """The lines that say what is wrong, and the number of pairs that are right."""
    wrong = list(stale(header))
    right = 0
    for function in header.comments:
        documented = header.documented(function)
        met = {result for name, result in pairs if name == function}
        if not met:
            wrong.append(f"{function}: not called")
            continue
        for result in sorted(documented - met):
            if (function, result) not in EXEMPT and result not in skipped:
                wrong.append(f"{function}: {result} is documented, and was not met")
        # The error of a start that has failed is that of every function, until abort and destroy (convention 11).
        of_start = {"rondeTimedOut"} if "rondeComm_t comm" in header.parameters[function] else set()
        for result in sorted(met - documented - of_start):
            wrong.append(f"{function}: {result} was met, and is not documented")
        right += len(met & documented)
    for function in sorted({name for name, _ in pairs} - set(header.comments)):
        wrong.append(f"{function}: not in the header")
    ever = {result for _, result in pairs} | {result for _, result in EXEMPT} | skipped
    wrong += [f"{result}: never met" for result in sorted(header.results - ever)]
    return wrong, right


def check_itself(text, pairs, skipped):
    """A function, an error and an observation that are new are told by name."""
    barrier = "/* Ends on no rank before all have begun it. */"
    assert barrier in text
    function = text.replace(barrier, f"/* As they come. */\nRONDE_API rondeResult_t rondeNew(int number);\n{barrier}")
    error = text.replace(barrier, f"{barrier[:-2]}rondeInternalError: never. */")
    for changed, observed, line in [
            (function, pairs, "rondeNew: not called"),
            (error, pairs, "rondeBarrier: rondeInternalError is documented, and was not met"),
            (text, pairs | {("rondeGetVersion", "rondeRevoked")},
             "rondeGetVersion: rondeRevoked was met, and is not documented")]:
        assert line in compare(Header(changed), observed, skipped)[0], line


def main():
    text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    header = Header(text)
    pairs, skipped = observed_in(sys.argv[2])
    wrong, right = compare(header, pairs, skipped)
    for (function, result), why in EXEMPT.items():
        print(f"not tested: {function}, {result}: {why}")
    for result in sorted(skipped):
        print(f"not tested here, for want of rights: {result}")
    print(f"{len(header.comments)} functions, {right} pairs of a function and a result are documented and were met")
    for line in wrong:
        print(f"wrong: {line}")
    if wrong:
        sys.exit(1)
    check_itself(text, pairs, skipped)


if __name__ == "__main__":
    main()
