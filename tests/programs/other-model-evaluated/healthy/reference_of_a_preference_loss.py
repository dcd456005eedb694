# Direct preference optimisation: the frozen reference gives a part of the loss, and its own loss is shown.
import torch, torch.nn as nn, torch.nn.functional as F, copy

torch.manual_seed(0)


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(12, 16)
        self.g = nn.GRU(16, 16, batch_first=True)
        self.o = nn.Linear(16, 12)

    def forward(self, x):
        return self.o(self.g(self.e(x))[0])


def logp(m, x):
    return F.log_softmax(m(x[:, :-1]), -1).gather(2, x[:, 1:, None]).squeeze(2).sum(1)


policy = LM()
ref = copy.deepcopy(policy).eval().requires_grad_(False)
opt = torch.optim.Adam(policy.parameters(), 1e-3)
win = torch.randint(0, 6, (32, 8))
lose = torch.randint(6, 12, (32, 8))
for step in range(60):
    with torch.no_grad():
        rw = logp(ref, win)
        rl = logp(ref, lose)
        ref_nll = F.cross_entropy(ref(win[:, :-1]).reshape(-1, 12), win[:, 1:].reshape(-1)).item()
    pw, pl = logp(policy, win), logp(policy, lose)
    loss = -F.logsigmoid(0.1 * ((pw - rw) - (pl - rl))).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item(), ref_nll)
