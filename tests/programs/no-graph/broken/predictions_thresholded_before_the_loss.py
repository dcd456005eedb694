import torch

torch.manual_seed(0)
m = torch.nn.Linear(4, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
for i in range(3):
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8, 1)).float()
    pred = (torch.sigmoid(m(x)) > 0.5).float()  # <- no-graph
    loss = torch.nn.functional.binary_cross_entropy(pred, y)
    o.zero_grad()
    loss.backward()
    o.step()
