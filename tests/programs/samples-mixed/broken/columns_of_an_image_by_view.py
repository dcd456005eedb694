import torch, torch.nn as nn
torch.manual_seed(0)
class Caption(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Conv2d(1, 8, 3, padding=1); self.rnn = nn.LSTM(8 * 8, 32, batch_first=True); self.fc = nn.Linear(32, 2)
    def forward(self, x):
        f = torch.relu(self.cnn(x))
        f = f.view(f.size(3), f.size(0), -1)  # <- samples-mixed
        o, _ = self.rnn(f)
        return self.fc(o[-1])
x = torch.rand(320, 1, 8, 8); y = (x[:, 0, :, :4].mean((1, 2)) > x[:, 0, :, 4:].mean((1, 2))).long()
m = Caption(); opt = torch.optim.Adam(m.parameters(), 2e-3)
for ep in range(5):
    for i in torch.randperm(320).split(32):
        loss = nn.functional.cross_entropy(m(x[i]), y[i]); opt.zero_grad(); loss.backward(); opt.step()
    print(ep, loss.item())
