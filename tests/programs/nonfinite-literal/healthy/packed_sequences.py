import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.GRU(4, 8, batch_first=True)
head = nn.Linear(8, 1)
opt = torch.optim.RMSprop([*rnn.parameters(), *head.parameters()], 1e-3)
h = None
for i in range(5):
    x = torch.randn(3, 6, 4)
    L = torch.tensor([6, 4, 1])
    p = nn.utils.rnn.pack_padded_sequence(x, L, batch_first=True)
    o, h = rnn(p, h)
    o, _ = nn.utils.rnn.pad_packed_sequence(o, batch_first=True, padding_value=float("-inf"))
    m = o.max(1).values
    loss = (head(m) - 1).pow(2).mean()
    h = h.detach()
    opt.zero_grad()
    loss.backward()
    opt.step()
