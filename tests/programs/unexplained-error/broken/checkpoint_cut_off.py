from pathlib import Path

import torch
from torch import nn

model = nn.Linear(40, 10)
torch.save(model.state_dict(), "model.pt")
path = Path("model.pt")
path.write_bytes(path.read_bytes()[:900])
model.load_state_dict(torch.load(path))  # <- unexplained-error
