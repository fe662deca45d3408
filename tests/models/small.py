#!/usr/bin/env python3
"""Writes the models of `small/`: tiny networks from both exporters of PyTorch, with what PyTorch computes.

    python tests/models/small.py [FAMILY…]

A case is laid out like one of ONNX's suite (`model.onnx`, `test_data_set_N/input_K.pb`, `output_K.pb`), with one set for each size that
was run; `tolerance.json` has the tolerances. `cargo test` runs them without PyTorch.
"""

import json
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
warnings.filterwarnings("ignore")

import numpy as np
import onnx
import torch
import torchvision
import transformers as tf
from onnx import numpy_helper
from torch import nn

import case
import language
import run
import vision

WANTED = HERE / "small"
# `dynamo=True` writes out the iterations that the example has, instead of a loop.
LOOPS = ("masks",)
WORDS = 24
TINY = dict(vocab_size=WORDS, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, max_position_embeddings=24)

language.WORDS = WORDS
case.FAMILIES.clear()


@case.family("shufflenet")
def shufflenet():
    net = torchvision.models.ShuffleNetV2([1, 1, 1], [4, 8, 8, 8, 16], num_classes=4)
    return case.Case(vision.Named(case.settle(net, torch.randn(16, 3, 32, 32))), **vision.picture(32, (2, 1)))


@case.family("unet")
def unet():
    made = vision.unet()
    made.model = case.settle(vision.UNet((2, 4)), torch.randn(4, 3, 32, 32))
    made.inputs = lambda batch, height, width: {"x": torch.randn(batch, 3, 2 * height, 2 * width)}
    made.dims = {"batch": (1, 2), "height": (4, 3), "width": (5, 3)}
    made.axes = {"x": {0: "batch", 2: ("height", 2), 3: ("width", 2)}}
    return made


@case.family("vit")
def vit():
    net = torchvision.models.VisionTransformer(16, 8, 1, 2, 16, 24, num_classes=4)
    nn.init.normal_(net.heads[-1].weight)
    return case.Case(vision.Named(net.eval()), **vision.picture(16, (2, 1)))


@case.family("bert")
def bert():
    return language.text(tf.BertModel(tf.BertConfig(**TINY)), pick=language.first, dims={"batch": (2, 1), "seq": (7, 5)})


@case.family("t5")
def t5():
    config = tf.T5Config(vocab_size=WORDS, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, use_cache=False, decoder_start_token_id=0)
    made = language.two_texts(tf.T5ForConditionalGeneration(config))
    made.dims = {"batch": (2, 1), "seq": (7, 5), "out": (3, 4)}
    return made


@case.family("llama")
def llama():
    made = language.cached(tf.LlamaForCausalLM(tf.LlamaConfig(**TINY, num_key_value_heads=1, head_dim=8)), 1, 8)
    made.model.layers = 1
    inputs = made.inputs
    made.inputs = lambda batch, past: {**inputs(batch, past), "past": torch.randn(1, 2, batch, 1, past, 8)}
    made.dims = {"batch": (2, 1), "past": (5, 3)}
    return made


@case.family("lstm")
def lstm():
    class Language(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(WORDS, 8)
            self.net = nn.LSTM(8, 8, bidirectional=True, batch_first=True)

        def forward(self, input_ids):
            y, (h, c) = self.net(self.embed(input_ids))
            return y, h, c

    return language.text(Language(), mask=False, dims={"batch": (2, 1), "seq": (6, 4)})


@case.family("boxes")
def boxes():
    class Boxes(nn.Module):
        """What stands at the end of a detector: some boxes pass a threshold, and those that overlap better ones go."""

        def forward(self, corners, scores):
            at = torch.nonzero(scores > 0.3).squeeze(1)
            corners, scores = corners[at], scores[at]
            kept = torchvision.ops.nms(corners, scores, 0.4)[:5]
            return corners[kept], scores[kept]

    def inputs(boxes):
        start = 20 * torch.rand(boxes, 2)
        return {"corners": torch.cat([start, start + 4 + 8 * torch.rand(boxes, 2)], 1), "scores": torch.rand(boxes)}

    return case.Case(Boxes(), inputs, dims={"boxes": (20, 30)}, axes={"corners": {0: "boxes"}, "scores": {0: "boxes"}})


@torch.jit.script
def pasted(masks, boxes, height: int, width: int):
    """Each mask as large as its box, in a picture of zeros: sizes are found anew in each iteration."""
    pictures = torch.zeros(0, height, width)
    for i in range(masks.size(0)):
        box = boxes[i].to(torch.int64)
        size = [int(box[3] - box[1]), int(box[2] - box[0])]
        mask = torch.nn.functional.interpolate(masks[i][None, None], size=size, mode="bilinear", align_corners=False)[0, 0]
        above, below = torch.zeros(int(box[1]), mask.size(1)), torch.zeros(height - int(box[3]), mask.size(1))
        column = torch.cat((above, mask, below))
        left, right = torch.zeros(column.size(0), int(box[0])), torch.zeros(column.size(0), width - int(box[2]))
        pictures = torch.cat((pictures, torch.cat((left, column, right), 1)[None]))
    return pictures


@case.family("masks")
def masks():
    class Masks(nn.Module):
        """What stands at the end of a detector that finds shapes, too."""

        def forward(self, masks, boxes):
            return pasted(masks, boxes, 12, 16)

    def inputs(boxes):
        start = torch.stack([torch.randint(0, 9, (boxes,)), torch.randint(0, 6, (boxes,))], 1)
        end = start + torch.stack([torch.randint(1, 8, (boxes,)), torch.randint(1, 7, (boxes,))], 1)
        return {"masks": torch.rand(boxes, 5, 5), "boxes": torch.cat([start, end], 1).float()}

    return case.Case(Masks(), inputs, dims={"boxes": (3, 5)}, axes={"masks": {0: "boxes"}, "boxes": {0: "boxes"}})


def stripped(model):
    """Without what exporters say about where nodes come from."""
    del model.metadata_props[:]
    model.doc_string = ""
    graphs = [model.graph, *model.functions]
    while graphs:
        graph = graphs.pop()
        graph.doc_string = ""
        del graph.metadata_props[:]
        del graph.value_info[:]
        for node in graph.node:
            node.doc_string = ""
            del node.metadata_props[:]
            graphs.extend(a.g for a in node.attribute if a.HasField("g"))
        for value in [*graph.input, *graph.output] if isinstance(graph, onnx.GraphProto) else []:
            del value.metadata_props[:]
    return model


def write(folder, target):
    meta = json.loads((folder / "meta.json").read_text())
    model = stripped(onnx.load(folder / "model.onnx"))
    target.mkdir(parents=True)
    onnx.save(model, target / "model.onnx")
    for i, made in enumerate(meta["runs"]):
        data = target / f"test_data_set_{i}"
        data.mkdir()
        for kind, file in (("input", made["inputs"]), ("output", made["outputs"])):
            for k, (name, value) in enumerate(np.load(folder / file).items()):
                (data / f"{kind}_{k}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())
    (target / "tolerance.json").write_text(json.dumps({"rtol": meta["rtol"], "atol": meta["atol"]}) + "\n")


def main():
    # Names of families, or nothing for all.
    wanted = sys.argv[1:] or list(case.FAMILIES)
    with tempfile.TemporaryDirectory() as work:
        for name in wanted:
            for exporter in run.EXPORTERS if name not in LOOPS else ("script",):
                folder = Path(work) / f"{name}.{exporter}"
                run.exported(name, exporter, folder, 240)
                error = folder / "error.txt"
                if error.exists():
                    print(f"{name} {exporter}: not exported: {error.read_text()}")
                    continue
                target = WANTED / f"{name}-{exporter}"
                shutil.rmtree(target, ignore_errors=True)
                write(folder, target)
                print(f"{name} {exporter}: {(target / 'model.onnx').stat().st_size} bytes")


if __name__ == "__main__":
    main()
