import torch
import torch.nn as nn
import torch.nn.functional as F


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(x.size(0), -1)
        return self.fc2(F.relu(self.fc1(x)))


net = LeNet()
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
images = torch.rand(50, 3, 32, 32)
labels = torch.randint(0, 10, (50,))
for epoch in range(2):
    for img, lab in zip(images, labels):
        opt.zero_grad()
        output = net(img)  # <- missing-batch-dimension
        loss = F.cross_entropy(output, lab.unsqueeze(0))
        loss.backward()
        opt.step()
