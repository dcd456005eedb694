import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(640, 10)
y = (x[:, 0] - x[:, 1] > 0).float()
train = DataLoader(TensorDataset(x[:480], y[:480]), 32, shuffle=True)
test = DataLoader(TensorDataset(x[480:], y[480:]), 40)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())
opt = torch.optim.Adam(net.parameters(), 5e-3)


def evaluate():
    net.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for inputs, labels in test:
            outputs = net(inputs)
            predicted = (outputs > 0.5).float()
            total += labels.size(0)
            correct += (predicted == labels).sum().item()  # <- wrong-metric-reduction
    return correct / total


for epoch in range(5):
    net.train()
    for inputs, labels in train:
        loss = nn.functional.binary_cross_entropy(net(inputs), labels.unsqueeze(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item(), evaluate())
