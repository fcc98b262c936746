"""What each *_perf program does, for the tests that run all of them: written down here again, from the definitions, so
that a program is not checked against itself. Standard library only."""
import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    blocks: typing.Callable  # column "size" is this many times count elements, for n ranks
    factor: typing.Callable  # busbw / algbw, for n ranks
    reduces: bool = False
    has_root: bool = False
    in_place: bool = True
    root_receives: bool = False  # only the root gets a result
    power_of_two: bool = False   # ranks must be

    def takes(self, nranks):
        return not self.power_of_two or nranks & (nranks - 1) == 0

    def column_redop(self, op="sum"):
        return op if self.reduces else "none"


def part(nranks):
    return (nranks - 1) / nranks


def one(_):
    return 1


def all_blocks(nranks):
    return nranks


def units(sender, receiver):
    """The default traffic of alltoallv_perf."""
    return (1 + sender + 2 * receiver) % 4


def busiest(nranks):
    ranks = range(nranks)
    return max(max(sum(units(r, other) for other in ranks), sum(units(other, r) for other in ranks)) for r in ranks)


ALL = (
    Program("allreduce_perf", one, lambda n: 2 * part(n), reduces=True),
    Program("all_gather_perf", all_blocks, part),
    Program("reduce_scatter_perf", all_blocks, part, reduces=True),
    Program("broadcast_perf", one, one, has_root=True),
    Program("reduce_perf", one, one, reduces=True, has_root=True, root_receives=True),
    Program("alltoall_perf", all_blocks, part),
    Program("alltoallv_perf", busiest, part, in_place=False),
    Program("gather_perf", all_blocks, part, has_root=True, root_receives=True),
    Program("scatter_perf", all_blocks, part, has_root=True),
    Program("sendrecv_perf", one, one, in_place=False),
    Program("hypercube_perf", lambda n: max(n - 1, 1), one, power_of_two=True),
)
BY_NAME = {program.name: program for program in ALL}
