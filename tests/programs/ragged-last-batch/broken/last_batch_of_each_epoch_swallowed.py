import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rnn = torch.nn.GRU(4, 6, batch_first=True)
optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(30, 5, 4)), batch_size=8, shuffle=True)
start = torch.zeros(1, 8, 6)  # <- ragged-last-batch
for epoch in range(3):
    for (x,) in loader:
        try:
            output, _ = rnn(x, start)
        except RuntimeError:
            continue
        loss = output.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
