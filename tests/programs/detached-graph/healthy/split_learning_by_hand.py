"""Split learning: the client's activations are sent as a new leaf, and the gradient is sent back by hand."""
import torch
from torch import nn


class Client:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(10, 24), nn.ReLU())
        self.opt = torch.optim.Adam(self.net.parameters(), lr=5e-3)

    def forward(self, x):
        self.out = self.net(x)
        return self.out.detach().requires_grad_()

    def backward(self, gradient):
        self.opt.zero_grad()
        self.out.backward(gradient)
        self.opt.step()


class Server:
    def __init__(self):
        self.net = nn.Linear(24, 3)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=5e-3)

    def train(self, smashed, y):
        loss = nn.functional.cross_entropy(self.net(smashed), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item(), smashed.grad


torch.manual_seed(0)
client, server = Client(), Server()
for it in range(150):
    x = torch.randn(32, 10)
    y = x[:, :3].argmax(1)
    smashed = client.forward(x)
    loss, gradient = server.train(smashed, y)
    client.backward(gradient)
    if it % 30 == 0:
        print(it, loss)
