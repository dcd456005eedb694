import torch, torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
class Net(nn.Module):
    def __init__(self): super().__init__(); self.e = nn.Embedding(20, 16, padding_idx=0); self.r = nn.LSTM(16, 16); self.f = nn.Linear(16, 2)  # <- lstm-batch-first
    def forward(self, x):
        o, (h, c) = self.r(self.e(x))
        return self.f(o[:, -1])
torch.manual_seed(0)
seqs = [torch.randint(1, 20, (int(torch.randint(3, 10, (1,))),)) for _ in range(240)]; y = torch.tensor([int(s[0] > 10) for s in seqs])
net = Net(); opt = torch.optim.Adam(net.parameters(), 5e-3)
for ep in range(5):
    for i in torch.randperm(240).split(24):
        x = pad_sequence([seqs[j] for j in i], batch_first=True)
        loss = nn.functional.cross_entropy(net(x), y[i]); opt.zero_grad(); loss.backward(); opt.step()
    print(ep, loss.item())
