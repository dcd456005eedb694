import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(8, 32)
        self.drop = nn.Dropout(0.3)
        self.fc2 = nn.Linear(32, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        self.drop(x)  # <- discarded-result
        return self.fc2(x)


def main():
    torch.manual_seed(1)
    data, labels = torch.randn(90, 8), torch.randint(0, 3, (90,))
    model = Net()
    opt = torch.optim.Adam(model.parameters())
    for _ in range(20):
        opt.zero_grad()
        F.cross_entropy(model(data), labels).backward()
        opt.step()


if __name__ == "__main__":
    main()
