import torch

torch.ones(2) * 2
raise SystemExit("the data is not there")
