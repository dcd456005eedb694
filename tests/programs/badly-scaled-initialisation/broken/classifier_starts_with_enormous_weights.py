import torch
import torch.nn as nn

torch.manual_seed(0)


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0, 5.0)  # <- badly-scaled-initialisation
        nn.init.zeros_(m.bias)


net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
net.apply(weights_init)
opt = torch.optim.Adam(net.parameters(), 1e-3)
X = torch.randn(256, 20)
Y = X[:, :4].argmax(1)
for e in range(10):
    for i in range(0, 256, 32):
        loss = nn.functional.cross_entropy(net(X[i:i + 32]), Y[i:i + 32])
        opt.zero_grad(); loss.backward(); opt.step()
    print(e, loss.item())
