import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Deep(nn.Module):
    """Thirty cells on top of each other, unrolled by hand: hundreds of module calls per forward."""

    def __init__(self, width=24, depth=30):
        super().__init__()
        self.embed = nn.Embedding(12, width)
        self.cells = nn.ModuleList(nn.GRUCell(width, width) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.head = nn.Linear(width, 12)

    def forward(self, tokens):
        x = self.embed(tokens)
        states = [x.new_zeros(len(tokens), x.shape[2]) for _ in self.cells]
        out = []
        for t in range(x.shape[1]):
            h = x[:, t]
            for n, (cell, norm) in enumerate(zip(self.cells, self.norms)):
                states[n] = cell(norm(h), states[n])
                h = h + states[n]
            out.append(self.head(h))
        return torch.stack(out, 1)


text = torch.arange(400) % 12
model = Deep()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(10):
    starts = torch.randint(0, 380, (8,))
    batch = torch.stack([text[s : s + 13] for s in starts])
    logits = model(batch[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, 12), batch[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
