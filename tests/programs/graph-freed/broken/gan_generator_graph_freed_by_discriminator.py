import torch

torch.manual_seed(0)
G = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
D = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
bce = torch.nn.BCEWithLogitsLoss()


def train_d(real, fake):
    loss = bce(D(real), torch.ones(8, 1)) + bce(D(fake), torch.zeros(8, 1))
    od.zero_grad()
    loss.backward()
    od.step()


def train_g(fake):
    loss = bce(D(fake), torch.ones(8, 1))
    og.zero_grad()
    loss.backward()  # <- graph-freed
    og.step()


for i in range(3):
    fake = G(torch.randn(8, 4))
    train_d(torch.randn(8, 2), fake)
    train_g(fake)
