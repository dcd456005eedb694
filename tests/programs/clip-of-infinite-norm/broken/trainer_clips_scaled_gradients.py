"""AMP trainer: the gradients are clipped while the loss scale is still in them."""
import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)

    def step(self, x, y):
        self.opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(self.model(x), y)
        self.scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)  # <- clip-of-infinite-norm
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss.item()


torch.manual_seed(0)
trainer = Trainer(nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 4)))
for i in range(80):
    x = torch.randn(32, 12)
    l = trainer.step(x, x[:, :4].argmax(1))
    if i % 20 == 0:
        print(i, l)
