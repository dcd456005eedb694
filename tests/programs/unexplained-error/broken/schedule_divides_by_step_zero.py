import torch
import torch.nn as nn

torch.manual_seed(0)
d_model, warmup = 64, 100
model = nn.Linear(d_model, 10)
optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)


def rate(step):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)  # <- unexplained-error


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=rate)
x, y = torch.randn(64, d_model), torch.randint(0, 10, (64,))
for step in range(20):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    scheduler.step()
