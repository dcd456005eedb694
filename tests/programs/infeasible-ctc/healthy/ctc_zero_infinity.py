import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(7, 5)
criterion = nn.CTCLoss(zero_infinity=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(8):
    logp = model(torch.randn(6, 3, 7)).log_softmax(2)
    targets = torch.randint(1, 5, (3, 9))
    loss = criterion(logp, targets, torch.tensor([6, 6, 6]), torch.tensor([2, 9, 4]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
