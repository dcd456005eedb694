import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.1))
        self.b = nn.Linear(32, 3)
        self.c = nn.Linear(32, 1)

    def forward(self, x):
        h = checkpoint(self.a, x, use_reentrant=False)
        return self.b(h), self.c(h)


def run_epoch(model, data, optimizer=None):
    model.train(optimizer is not None)
    total = 0.0
    with torch.set_grad_enabled(optimizer is not None):
        for x in data:
            logits, value = model(x)
            first = nn.functional.cross_entropy(logits, x[:, :3].argmax(dim=1))
            second = nn.functional.mse_loss(value[:, 0], x.sum(dim=1))
            if optimizer is not None:
                optimizer.zero_grad()
                first.backward(retain_graph=True)
                second.backward()
                optimizer.step()
            total += (first + second).item()
    return total / len(data)


model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda e: min(1.0, (e + 1) / 3) * 0.9**e)
data = list(torch.randn(12, 32, 6))
for epoch in range(5):
    run_epoch(model, data[:9], optimizer)
    print(epoch, run_epoch(model, data[9:]))
    warm.step()
