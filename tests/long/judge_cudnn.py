"""cuDNN against numpy; run by numpy_judges.py.

What is computed stands in the judges of layers, of sequences and of graphs as
NVIDIA's documentation defines it; ways back are slopes of ways forward.
"""
import judge_cudnn_graph
import judge_cudnn_layers
import judge_cudnn_sequences
from judge_cudnn_frame import Dnn, cases


def run(judge):
    dnn = Dnn(judge)
    for families in (judge_cudnn_layers, judge_cudnn_sequences,
                     judge_cudnn_graph):
        cases(judge, dnn, families.FAMILIES)
    dnn("Destroy")
    return dnn.library.called
