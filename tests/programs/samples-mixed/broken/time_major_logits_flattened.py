import torch
from torch import nn


class Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(12, 16)
        self.rnn = nn.GRU(16, 32)
        self.out = nn.Linear(32, 12)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.emb(tokens.t()))
        return self.out(hidden)


torch.manual_seed(0)
model = Seq()
opt = torch.optim.Adam(model.parameters(), 5e-3)
for step in range(200):
    tokens = torch.randint(0, 12, (20, 8))
    target = (tokens + 5) % 12
    logits = model(tokens)
    loss = nn.functional.cross_entropy(logits.view(-1, 12), target.view(-1))  # <- samples-mixed
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(step, loss.item())
