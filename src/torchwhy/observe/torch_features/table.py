"""The table of private names, by the name of each feature. Needs no torch."""

from __future__ import annotations

from torchwhy.observe.torch_features.of_python import OF_PYTHON
from torchwhy.observe.torch_features.of_torch import OF_TORCH

FEATURES = {feature.name: feature for feature in (*OF_TORCH, *OF_PYTHON)}
