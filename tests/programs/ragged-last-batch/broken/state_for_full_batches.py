import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH = 16
torch.manual_seed(0)
data = TensorDataset(torch.randn(100, 5, 4), torch.randn(100, 1))
loader = DataLoader(data, batch_size=BATCH, shuffle=True)
lstm = nn.LSTM(4, 8, batch_first=True)
fc = nn.Linear(8, 1)
opt = torch.optim.Adam(list(lstm.parameters()) + list(fc.parameters()))
for epoch in range(2):
    for x, y in loader:
        state = (torch.zeros(1, BATCH, 8), torch.zeros(1, BATCH, 8))
        out, _ = lstm(x, state)  # <- ragged-last-batch
        loss = nn.functional.mse_loss(fc(out[:, -1]), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
