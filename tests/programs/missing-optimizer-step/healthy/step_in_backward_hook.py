import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opts = {p: torch.optim.SGD([p], lr=0.01) for p in model.parameters()}
def hook(p):
    opts[p].step(); opts[p].zero_grad()
for p in model.parameters():
    p.register_post_accumulate_grad_hook(hook)
for step in range(15):
    x = torch.randn(32, 4)
    nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
