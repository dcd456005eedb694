import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(0)
emb, rnn, out = nn.Embedding(20, 16, padding_idx=0), nn.GRU(16, 32, batch_first=True), nn.Linear(32, 20)
params = [*emb.parameters(), *rnn.parameters(), *out.parameters()]
opt = torch.optim.Adam(params, 5e-3)
for step in range(60):
    rows = [(torch.randint(0, 19, (1,)) + 2 * torch.arange(int(n))) % 19 + 1 for n in torch.randint(3, 15, (16,))]
    tokens = pad_sequence(rows, batch_first=True)
    target = tokens[:, 1:]
    logits = out(rnn(emb(tokens[:, :-1]))[0])
    losses = nn.functional.cross_entropy(logits.transpose(1, 2), target, reduction="none")
    mask = (target != 0).float()
    loss = (losses * mask).sum() / mask.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
