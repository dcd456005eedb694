import warnings
import torch
from torch import nn
from torch.utils import checkpoint as cp

warnings.filterwarnings("ignore")
torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
head = nn.Linear(16, 2)
opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
for _ in range(30):
    x = torch.randn(32, 6)
    hidden = cp.checkpoint_sequential(encoder, 2, x, use_reentrant=True)  # <- reentrant-checkpoint
    loss = nn.functional.cross_entropy(head(hidden), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
