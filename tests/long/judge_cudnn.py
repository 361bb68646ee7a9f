"""cuDNN against numpy; run by numpy_judges.py.

What is computed stands in the judges of layers, of sequences and of graphs as
NVIDIA's documentation defines it; ways back are slopes of ways forward.
Version 9 is judged, and of version 8, loaded beside it, what it has alone and
its layers once more in f32.
"""
import judge_cudnn_attention
import judge_cudnn_descriptors
import judge_cudnn_graph
import judge_cudnn_layers
import judge_cudnn_sequences
from judge_cudnn_frame import Dnn, cases


def run(judge):
    dnn = Dnn(judge)
    for families in (judge_cudnn_descriptors, judge_cudnn_layers,
                     judge_cudnn_sequences, judge_cudnn_graph,
                     judge_cudnn_attention):
        cases(judge, dnn, families.FAMILIES)
    dnn("Destroy")
    old = Dnn(judge, 8)
    cases(judge, old, judge_cudnn_descriptors.OLD_FAMILIES + [
        (family, {**axes, "kind": ["S"]})
        for family, axes in judge_cudnn_layers.FAMILIES
        if "S" in axes.get("kind", ())])
    old("Destroy")
    return dnn.library.called | old.library.called
