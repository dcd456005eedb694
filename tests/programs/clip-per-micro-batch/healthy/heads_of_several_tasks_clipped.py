# Multi-task: shared encoder is left alone, each task's head is clipped right after its own backward.
import torch
from torch import nn
torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(10, 64), nn.ReLU())
heads = nn.ModuleDict({"a": nn.Linear(64, 1), "b": nn.Linear(64, 1), "c": nn.Linear(64, 1)})
params = [*encoder.parameters(), *heads.parameters()]
opt = torch.optim.AdamW(params, lr=1e-3)
W = torch.randn(10, 3)
for step in range(80):
    x = torch.randn(64, 10)
    targets = dict(zip("abc", (x @ W).t()))
    opt.zero_grad(set_to_none=True)
    features = encoder(x)
    for name, head in heads.items():
        loss = nn.functional.smooth_l1_loss(head(features).squeeze(1), targets[name])
        loss.backward(retain_graph=name != "c")
        nn.utils.clip_grad_value_(head.parameters(), 0.5)
    opt.step()
