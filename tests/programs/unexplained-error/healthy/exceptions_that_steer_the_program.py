import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def flat(x):
    try:
        return x.view(-1, 4)
    except RuntimeError:
        return x.reshape(-1, 4)


def module_of(m):
    try:
        return m.module
    except AttributeError:
        return m


for step in range(5):
    x = torch.randn(4, 8, 4).transpose(0, 1)
    try:
        model.load_state_dict({})
    except RuntimeError:
        pass
    try:
        value = int("abc")
    except ValueError:
        value = 0
    loss = module_of(model)(flat(x)).pow(2).mean()
    optimizer.zero_grad()
    try:
        loss.backward()
    except RuntimeError as problem:
        raise ValueError("bad") from problem
    optimizer.step()
