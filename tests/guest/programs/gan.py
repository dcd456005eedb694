import torch
from torch import nn
import witness

witness.seed()
generator = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.LeakyReLU(0.2), nn.Linear(8, 2))
critic = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(2, 8)), nn.ReLU(), nn.Linear(8, 1))
one = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
two = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9), foreach=True)
for step in range(4):
    for _ in range(2):
        real, fake = torch.randn(8, 2), generator(torch.randn(8, 4)).detach()
        mix = (torch.rand(8, 1) * real + torch.rand(8, 1) * fake).requires_grad_()
        (slope,) = torch.autograd.grad(critic(mix).sum(), mix, create_graph=True)
        loss_two = critic(fake).mean() - critic(real).mean() + 10 * (slope.norm(dim=1) - 1).square().mean()
        two.zero_grad()
        loss_two.backward()
        two.step()
        witness.swear("critic loss", loss_two)
    loss_one = -critic(generator(torch.randn(8, 4))).mean()
    one.zero_grad()
    loss_one.backward()
    one.step()
    witness.swear("generator loss", loss_one)
witness.swear("generator", generator)
witness.swear("critic", critic)
witness.swear("optimizers", [one.state_dict(), two.state_dict()])
witness.testify()
