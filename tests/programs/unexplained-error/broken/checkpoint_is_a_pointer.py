import torch
from torch import nn

with open("model.pt", "w") as file:
    file.write("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 132\n")
model = nn.Linear(4, 1)
model.load_state_dict(torch.load("model.pt"))  # <- unexplained-error
