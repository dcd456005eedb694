import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
V = 40
sentences = torch.randint(0, V, (400, 8))
labels = (sentences.float().mean(1) > V / 2).float()
emb = nn.Embedding(V, 12)
ctx = nn.Embedding(V, 12)
opt = torch.optim.Adam(list(emb.parameters()) + list(ctx.parameters()), lr=1e-2)
for i in range(80):
    s = sentences[torch.randint(0, 400, (64,))]
    pos = (emb(s[:, 3]) * ctx(s[:, 4])).sum(1)
    neg = (emb(s[:, 3]) * ctx(torch.randint(0, V, (64,)))).sum(1)
    loss = -(F.logsigmoid(pos) + F.logsigmoid(-neg)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("skipgram", loss.item())

vectors = nn.Embedding.from_pretrained(emb.weight.detach().clone(), freeze=True)
clf = nn.Sequential(vectors, nn.Flatten(), nn.Linear(96, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam([p for p in clf.parameters() if p.requires_grad], lr=5e-3)
for i in range(80):
    k = torch.randint(0, 400, (64,))
    out = clf(sentences[k]).squeeze(1)
    loss = F.binary_cross_entropy_with_logits(out, labels[k])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
