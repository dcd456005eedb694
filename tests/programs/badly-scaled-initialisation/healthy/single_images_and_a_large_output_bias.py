# One image at a time, flattened as a whole; the last bias starts at the mean of the targets, far from 0.
import torch
from torch import nn

torch.manual_seed(0)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.hidden = nn.Linear(4 * 6 * 6, 16)
        self.out = nn.Linear(16, 1)
        nn.init.constant_(self.out.bias, 12.0)

    def forward(self, image):
        return self.out(torch.relu(self.hidden(torch.relu(self.conv(image)).flatten())))


net = Counter()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
images = torch.rand(60, 1, 8, 8)
counts = 12 + 4 * (images.mean(dim=(1, 2, 3)) - 0.5)
for epoch in range(3):
    for image, count in zip(images, counts):
        loss = (net(image).squeeze(0) - count).pow(2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
