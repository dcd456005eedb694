import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(4, 16)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32), 2, enable_nested_tensor=False)
        self.out = nn.Linear(16, 2)

    def forward(self, x):
        h = self.embed(x).permute(1, 0, 2)
        return self.out(self.encoder(h).mean(dim=0))


torch.manual_seed(0)
x = torch.randn(160, 9, 4)
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for inputs, labels in DataLoader(TensorDataset(x, (x[:, 0, 0] > 0).long()), batch_size=16):
    loss = nn.functional.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
