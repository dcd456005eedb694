import warnings

import numpy
import torch
from torch import nn
import witness

witness.seed()
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
scheduler.step()
for step in range(3):
    warnings.warn("the same every time")
    numpy.array([1.0, 2.0]) / numpy.array([0.0, 1.0])
    loss = nn.functional.mse_loss(model(torch.randn(5, 4)), torch.zeros(5))
    loss.backward()
    hidden = model(torch.randn(5, 4))
    hidden.grad
    optimizer.step()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("kept")
    numpy.log(numpy.zeros(1))
print([str(w.message) for w in caught])
torch.nn.functional.softmax(torch.randn(3))
witness.testify()
