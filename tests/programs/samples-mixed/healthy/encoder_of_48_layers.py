import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(100, 32)
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 48)
        self.head = nn.Linear(32, 4)
    def forward(self, x):
        return self.head(self.enc(self.emb(x)).mean(1))
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-4)
x = torch.randint(0, 100, (256, 16)); y = x[:, 0] % 4
for step in range(12):
    i = torch.randint(0, 256, (8,))
    loss = nn.functional.cross_entropy(net(x[i]), y[i])
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 10 == 0: print(step, loss.item())
