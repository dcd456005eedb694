import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def evaluate(net, loader):
    net.eval()
    predictions, targets, total = [], [], 0.0
    for x, y in loader:
        output = net(x)
        predictions.append(output)
        targets.append(y)
        total += nn.functional.mse_loss(output, y)
    net.train()
    return torch.cat(predictions), torch.cat(targets), total / len(loader)


torch.manual_seed(0)
x = torch.randn(600, 32)
y = x.mean(dim=1, keepdim=True)
train = DataLoader(TensorDataset(x[:80], y[:80]), batch_size=8, shuffle=True)
validation = DataLoader(TensorDataset(x[80:], y[80:]), batch_size=8)
net = nn.Sequential(nn.Linear(32, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
curve = []
for epoch in range(4):
    outputs = []
    for inputs, targets in train:
        optimizer.zero_grad()
        out = net(inputs)
        nn.functional.mse_loss(out, targets).backward()
        optimizer.step()
        outputs.append(out.detach())
    predictions, truth, error = evaluate(net, validation)
    curve.append(error)
    print(
        epoch,
        error.item(),
        torch.cat(outputs).std().item(),
        (predictions - truth).abs().mean().item(),
    )
