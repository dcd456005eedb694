import torch


class Backbone(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 4)
        self.freeze()

    def freeze(self):
        for p in self.parameters():
            p.requires_grad_(False)  # <- no-graph

    def forward(self, x):
        return self.body(x)


net = Backbone()
o = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(2):
    l = net(torch.randn(2, 4)).mean()
    o.zero_grad()
    l.backward()
    o.step()
