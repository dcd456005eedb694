import torch, torch.nn as nn
torch.manual_seed(0); X = torch.randn(256, 6); Y = X[:, :3].argmax(1); net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
def train(net, lr, n):
    opt = torch.optim.SGD(net.parameters(), lr=lr)  # <- learning-rate-too-high
    for it in range(n): l = nn.functional.cross_entropy(net(X), Y); opt.zero_grad(); l.backward(); opt.step()
    print(lr, l.item())
train(net, .5, 100); train(net, 400., 100)
