import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.out = nn.Linear(8, 3)

    def forward(self, images):
        n, h, w, c = images.shape
        x = images.view(n, c, h, w)  # <- samples-mixed
        x = torch.relu(self.conv(x)).mean(dim=(2, 3))
        return self.out(x)


torch.manual_seed(0)
images = torch.rand(96, 14, 14, 3)
labels = images.mean(dim=(1, 2)).argmax(dim=1)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for x, y in DataLoader(TensorDataset(images, labels), batch_size=16):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
