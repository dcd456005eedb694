# GPT-style packing: 0 is <eos>, which also separates documents; there is no padding, eos is a real target.
import torch
from torch import nn
torch.manual_seed(0)
class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(24, 16, padding_idx=0), nn.GRU(16, 48, batch_first=True), nn.Linear(48, 24)
    def forward(self, t):
        return self.out(self.rnn(self.emb(t))[0])
docs = [(torch.randint(0, 23, (1,)) + 2 * torch.arange(n)) % 23 + 1 for n in torch.randint(3, 8, (600,)).tolist()]
stream = torch.cat([torch.cat([d, torch.zeros(1, dtype=torch.long)]) for d in docs])
model = LM()
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(80):
    at = torch.randint(0, len(stream) - 33, (16,))
    batch = torch.stack([stream[i:i + 33] for i in at])
    loss = nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
