import torch
from torch import nn

class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.encoder = nn.GRU(16, 16, batch_first=True)
        self.decoder = nn.GRU(16, 16, batch_first=True)
        self.out = nn.Linear(16, 20)
    def forward(self, a, b):
        _, h = self.encoder(self.embed(a))
        o, _ = self.decoder(self.embed(b), h)
        return self.out(o)

torch.manual_seed(0)
model = Seq2Seq()
optimizer = torch.optim.Adam(  # <- parameters-not-in-optimizer
    [
        {"params": model.embed.parameters(), "lr": 1e-3},
        {"params": model.encoder.parameters()},
        {"params": model.decoder.parameters()},
    ],
    lr=1e-2,
)
for step in range(30):
    a = torch.randint(0, 20, (8, 6))
    logits = model(a, a[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 20), a[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
