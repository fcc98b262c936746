#!/usr/bin/env python3
"""Writes the gradient tensors of two published models as traces for `allreduce_perf --sizes-from`.

Only arithmetic on the published architectures: no framework, no network, no download. A line is "name elements"; the
order is the reverse of the order in which the model registers its parameters, which is the order in which a
backward pass finishes them (and in which PyTorch's DistributedDataParallel fills its buckets).

    make_traces.py [FOLDER]     writes resnet50.txt and bert-large.txt into FOLDER (default: where this file lies)
"""
import os
import sys


def batch_norm(name, channels):
    return [(name + ".weight", channels), (name + ".bias", channels)]


def bottleneck(name, inputs, width, downsample):
    """Convolutions 1x1, 3x3, 1x1 without bias, each with a batch norm; the last has four times the channels."""
    outputs = 4 * width
    tensors = []
    for i, weights in enumerate((inputs * width, width * width * 9, width * outputs), start=1):
        tensors.append((f"{name}.conv{i}.weight", weights))
        tensors += batch_norm(f"{name}.bn{i}", outputs if i == 3 else width)
    if downsample:
        tensors.append((f"{name}.downsample.0.weight", inputs * outputs))
        tensors += batch_norm(f"{name}.downsample.1", outputs)
    return tensors


def resnet50():
    """He et al. 2015, as in torchvision: 3, 4, 6, 3 bottleneck blocks, 1000 classes."""
    tensors = [("conv1.weight", 3 * 64 * 7 * 7)] + batch_norm("bn1", 64)
    inputs = 64
    for layer, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), start=1):
        for block in range(blocks):
            tensors += bottleneck(f"layer{layer}.{block}", inputs, width, downsample=block == 0)
            inputs = 4 * width
    return tensors + [("fc.weight", 2048 * 1000), ("fc.bias", 1000)]


def linear(name, inputs, outputs):
    return [(name + ".weight", inputs * outputs), (name + ".bias", outputs)]


def layer_norm(name, hidden):
    return [(name + ".weight", hidden), (name + ".bias", hidden)]


def bert_large(layers=24, hidden=1024, feed_forward=4096, vocabulary=30522, positions=512, types=2):
    """Devlin et al. 2018, as the encoder with pooler: embeddings, 24 layers, pooler, without a head on top."""
    tensors = [
        ("embeddings.word_embeddings.weight", vocabulary * hidden),
        ("embeddings.position_embeddings.weight", positions * hidden),
        ("embeddings.token_type_embeddings.weight", types * hidden),
    ] + layer_norm("embeddings.LayerNorm", hidden)
    for layer in range(layers):
        name = f"encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            tensors += linear(name + "attention.self." + part, hidden, hidden)
        tensors += linear(name + "attention.output.dense", hidden, hidden)
        tensors += layer_norm(name + "attention.output.LayerNorm", hidden)
        tensors += linear(name + "intermediate.dense", hidden, feed_forward)
        tensors += linear(name + "output.dense", feed_forward, hidden)
        tensors += layer_norm(name + "output.LayerNorm", hidden)
    return tensors + linear("pooler.dense", hidden, hidden)


def trace(title, tensors):
    total = sum(elements for _, elements in tensors)
    head = [f"# {title}, gradients in backward order", f"# {len(tensors)} tensors, {total} elements; see README.md"]
    return "\n".join(head + [f"{name} {elements}" for name, elements in reversed(tensors)]) + "\n"


TRACES = {
    "resnet50.txt": lambda: trace("ResNet-50", resnet50()),
    "bert-large.txt": lambda: trace("BERT-large", bert_large()),
}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for name, make in TRACES.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(make())


if __name__ == "__main__":
    main()
