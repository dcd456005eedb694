import torch
from torch import nn
class LM(nn.Module):
    def __init__(self, v=30, d=32):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, v, bias=False)
        self.out.weight = self.emb.weight
    def forward(self, t):
        h, _ = self.rnn(self.emb(t))
        return self.out(h)
torch.manual_seed(0)
lm = LM()
opt = torch.optim.Adam(lm.parameters(), lr=3e-3)
for step in range(100):
    start = torch.randint(0, 30, (16, 1))
    seq = (start + torch.arange(13)) % 30
    logits = lm(seq[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 30), seq[:, 1:].reshape(-1))
    opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(lm.parameters(), 1.0); opt.step()
