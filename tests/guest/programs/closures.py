import torch
from torch import nn
import witness

witness.seed()
model = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
x = torch.randn(20, 3)
y = x.prod(1, keepdim=True)
calls = 0
for optimizer in (
    torch.optim.LBFGS(model.parameters(), max_iter=5, line_search_fn="strong_wolfe"),
    torch.optim.SGD(model.parameters(), lr=0.01, nesterov=True, momentum=0.9),
):

    def closure():
        global calls
        calls += 1
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        return loss

    for step in range(4):
        witness.swear("loss", optimizer.step(closure))
    witness.swear("optimizer", optimizer)
print(calls)
witness.swear("model", model)
witness.testify()
