import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rnn = torch.nn.GRU(3, 5, batch_first=True)
o = torch.optim.SGD(rnn.parameters(), lr=0.1)
h = None
for (x,) in DataLoader(TensorDataset(torch.randn(22, 4, 3)), batch_size=6):
    out, h = rnn(x, h)  # <- ragged-last-batch
    h = h.detach()
    loss = out.pow(2).mean()
    o.zero_grad()
    loss.backward()
    o.step()
