import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

NUM_CHARS = 10

class CRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.rnn = nn.GRU(8 * 4, 32, batch_first=True)
        self.fc = nn.Linear(32, NUM_CHARS)
    def forward(self, x):
        f = self.cnn(x)
        f = f.permute(0, 3, 1, 2).flatten(2)
        return self.fc(self.rnn(f)[0]).log_softmax(-1).permute(1, 0, 2)

torch.manual_seed(0)
imgs = torch.rand(64, 1, 8, 48)
labels = torch.randint(1, NUM_CHARS + 1, (64, 5))
loader = DataLoader(TensorDataset(imgs, labels), 16, shuffle=True)
model = CRNN()
crit = nn.CTCLoss(blank=0, zero_infinity=True)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    for x, y in loader:
        lp = model(x)
        loss = crit(lp, y, torch.full((x.size(0),), lp.size(0)), torch.full((x.size(0),), 5))  # <- impossible-loss
        opt.zero_grad(); loss.backward(); opt.step()
    print(epoch, loss.item())
