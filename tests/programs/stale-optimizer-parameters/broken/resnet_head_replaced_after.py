import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.fc = nn.Linear(8, classes)
    def forward(self, x):
        return self.fc(self.features(x))

def build(device):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)  # <- stale-optimizer-parameters
    model.fc = nn.Linear(8, 3)
    return model.to(device), optimizer

def main():
    torch.manual_seed(0)
    model, optimizer = build("cpu")
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for epoch in range(4):
        model.train()
        for _ in range(8):
            y = torch.randint(0, 3, (16,))
            x = torch.randn(16, 1, 8, 8) + y[:, None, None, None]
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()

if __name__ == "__main__":
    main()
