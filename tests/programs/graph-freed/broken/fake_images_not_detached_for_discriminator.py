import torch

torch.manual_seed(0)


class Pix:
    def __init__(self):
        self.G, self.D = (
            torch.nn.Linear(4, 4),
            torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)),
        )
        self.oG, self.oD = (
            torch.optim.Adam(self.G.parameters()),
            torch.optim.Adam(self.D.parameters()),
        )

    def forward(self, x):
        self.fake = torch.tanh(self.G(x))

    def backward_D(self, real):
        self.loss_D = self.D(self.fake).mean() - self.D(real).mean()
        self.loss_D.backward()

    def backward_G(self):
        self.loss_G = -self.D(self.fake).mean()
        self.loss_G.backward()  # <- graph-freed

    def optimize(self, x, real):
        self.forward(x)
        self.oD.zero_grad()
        self.backward_D(real)
        self.oD.step()
        self.oG.zero_grad()
        self.backward_G()
        self.oG.step()


p = Pix()
for i in range(2):
    p.optimize(torch.randn(3, 4), torch.randn(3, 4))
