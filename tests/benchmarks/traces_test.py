#!/usr/bin/env python3
"""The shipped traces are what make_traces.py writes, and have the published numbers of parameters.

    traces_test.py FOLDER_OF_TRACES
"""
import os
import subprocess
import sys
import tempfile

PUBLISHED = {"resnet50.txt": (161, 25557032), "bert-large.txt": (391, 335141888)}


def main():
    shipped = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(shipped, "make_traces.py"), folder], check=True)
        assert sorted(os.listdir(folder)) == sorted(PUBLISHED)
        for name, (tensors, elements) in PUBLISHED.items():
            with open(os.path.join(folder, name), encoding="ascii") as file:
                made = file.read()
            with open(os.path.join(shipped, name), encoding="ascii") as file:
                assert file.read() == made, f"{name} is not what make_traces.py writes"
            lines = [line.split() for line in made.splitlines() if not line.startswith("#")]
            assert len(lines) == tensors, name
            assert sum(int(number) for _, number in lines) == elements, name
            assert len({tensor for tensor, _ in lines}) == tensors, name
    with open(os.path.join(shipped, "README.md"), encoding="utf-8") as file:
        text = file.read()
    for tensors, elements in PUBLISHED.values():
        assert f"{elements:,}" in text and str(tensors) in text


if __name__ == "__main__":
    main()
