"""Layers and functions of torch by what they take: a layer is known by the name of its class."""

from __future__ import annotations

# Take an output and a target.
LOSSES = frozenset(
    {
        "AdaptiveLogSoftmaxWithLoss",
        "BCELoss",
        "BCEWithLogitsLoss",
        "CTCLoss",
        "CosineEmbeddingLoss",
        "CrossEntropyLoss",
        "GaussianNLLLoss",
        "HingeEmbeddingLoss",
        "HuberLoss",
        "KLDivLoss",
        "L1Loss",
        "LinearCrossEntropyLoss",
        "MSELoss",
        "MarginRankingLoss",
        "MultiLabelMarginLoss",
        "MultiLabelSoftMarginLoss",
        "MultiMarginLoss",
        "NLLLoss",
        "NLLLoss2d",
        "PoissonNLLLoss",
        "SmoothL1Loss",
        "SoftMarginLoss",
        "TripletMarginLoss",
        "TripletMarginWithDistanceLoss",
    }
)
# Take indices.
EMBEDDINGS = frozenset({"Embedding", "EmbeddingBag"})
# Take images, whose channels are fewer than rows and columns.
IMAGE_CONVOLUTIONS = frozenset({"Conv2d", "Conv3d", "ConvTranspose2d", "ConvTranspose3d"})
# What layers that multiply their input call the number of its features.
FEATURE_SIZES = ("in_features", "input_size", "normalized_shape", "embed_dim", "in1_features")
# Functions that multiply matrices, and what they call their factors.
MATRIX_PRODUCTS = frozenset({"matmul", "bmm", "mm", "einsum", "baddbmm", "addmm", "dot", "mv"})
FACTORS = ("self", "mat1", "mat2", "tensor", "input", "other", "batch1", "batch2", "vec")
