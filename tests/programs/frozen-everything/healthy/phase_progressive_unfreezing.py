"""ULMFiT in small: unfreeze one more layer group at a time, a new optimizer each time."""
import torch
from torch import nn

torch.manual_seed(0)
vocab, classes = 50, 3
docs = torch.randint(0, vocab, (300, 12))
y = (docs < 20).float().sum(1)
y = torch.bucketize(y, torch.tensor([3.5, 5.5]))


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.rnn = nn.GRU(16, 32, batch_first=True)
        self.out = nn.Linear(32, classes)
        self.lm = nn.Linear(32, vocab)

    def features(self, t):
        return self.rnn(self.emb(t))[0]

    def forward(self, t):
        return self.out(self.features(t).mean(1))


m = Text()
opt = torch.optim.Adam([*m.emb.parameters(), *m.rnn.parameters(), *m.lm.parameters()], lr=5e-3)
for i in range(40):
    t = docs[torch.randperm(300)[:60]]
    logits = m.lm(m.features(t[:, :-1]))
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), t[:, 1:].flatten())
    opt.zero_grad(); loss.backward(); opt.step()
print("lm", loss.item())

groups = [m.out, m.rnn, m.emb]
for p in m.parameters():
    p.requires_grad = False
for k, group in enumerate(groups):
    for p in group.parameters():
        p.requires_grad = True
    opt = torch.optim.Adam(filter(lambda p: p.requires_grad, m.parameters()), lr=1e-2 / (k + 1))
    for i in range(40):
        idx = torch.randperm(300)[:60]
        loss = nn.functional.cross_entropy(m(docs[idx]), y[idx])
        opt.zero_grad(); loss.backward(); opt.step()
    print("stage", k, loss.item())
