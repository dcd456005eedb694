import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

np.random.seed(4)
series = np.cumsum(np.random.randn(1500)).astype("float32")
series = (series - series.mean()) / series.std()


class Windows(Dataset):
    def __init__(self, data, length=20):
        self.data, self.length = data, length

    def __len__(self):
        return len(self.data) - self.length - 1

    def __getitem__(self, i):
        window = self.data[i:i + self.length]
        return torch.tensor(window)[:, None], torch.tensor(self.data[i + self.length - 1:i + self.length])


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 24, batch_first=True)
        self.fc = nn.Linear(24, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


torch.manual_seed(0)
m = Forecaster()
opt = torch.optim.Adam(m.parameters(), lr=5e-3)
for ep in range(3):
    for x, y in DataLoader(Windows(series), batch_size=32, shuffle=True):
        loss = nn.functional.mse_loss(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, loss.item())
