import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attention = nn.MultiheadAttention(d, 2, batch_first=True)
        self.norm = nn.LayerNorm(d)
    def forward(self, x):
        return self.norm(x + self.attention(x, x, x, need_weights=False)[0])

class Model(nn.Module):
    def __init__(self, d=16, depth=3):
        super().__init__()
        self.embed = nn.Embedding(30, d)
        self.blocks = [Block(d) for _ in range(depth)]  # <- unregistered-submodules
        self.out = nn.Linear(d, 30)
    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.out(x)

class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
    def step(self, x):
        loss = nn.functional.cross_entropy(self.model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

torch.manual_seed(0)
trainer = Trainer(Model())
for _ in range(25):
    trainer.step(torch.randint(0, 30, (8, 10)))
