# A softmax by hand that takes the maximum off, and a summed loss with a rate that it can bear.
import torch
from torch import nn

torch.manual_seed(0)


def softmax(scores):
    powers = torch.exp(scores - scores.max(dim=1, keepdim=True).values)
    return powers / powers.sum(dim=1, keepdim=True)


inputs = torch.randn(300, 20)
labels = (inputs @ torch.randn(20, 5)).argmax(dim=1)
model = nn.Linear(20, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.002)
for epoch in range(10):
    for start in range(0, 300, 50):
        chances = softmax(model(inputs[start : start + 50]))
        loss = -torch.log(chances[torch.arange(50), labels[start : start + 50]] + 1e-9).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
