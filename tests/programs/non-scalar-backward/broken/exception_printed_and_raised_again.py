import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    for step in range(5):
        x = torch.randn(6, 4)
        loss = model(x)
        try:
            loss.backward()  # <- non-scalar-backward
        except RuntimeError as e:
            print("oops")
            raise
        optimizer.step()
except KeyError:
    pass
