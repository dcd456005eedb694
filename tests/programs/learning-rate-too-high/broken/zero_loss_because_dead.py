import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(5, 20)
        self.fc2 = nn.Linear(20, 5)

    def forward(self, x):
        return torch.relu(self.fc2(torch.relu(self.fc1(x))))


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 5), torch.zeros(64, 5))
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e3)  # <- learning-rate-too-high
    for epoch in range(20):
        for x, y in DataLoader(data, batch_size=32):
            optimizer.zero_grad()
            loss = nn.MSELoss()(net(x), y)
            loss.backward()
            optimizer.step()
    print("final loss", loss.item())


main()
