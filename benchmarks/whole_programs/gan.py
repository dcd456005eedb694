"""A small GAN: two optimizers step in turn."""

import torch
from laps import lap
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
critic = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
of_critic = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
loss_of = nn.BCEWithLogitsLoss()
lap()
for step in range(6500):
    real = torch.randn(64, 2) * 0.5 + torch.tensor([1.0, -1.0])
    fake = generator(torch.randn(64, 8))
    critic_loss = loss_of(critic(real), torch.ones(64, 1)) + loss_of(critic(fake.detach()), torch.zeros(64, 1))
    of_critic.zero_grad()
    critic_loss.backward()
    of_critic.step()
    generator_loss = loss_of(critic(fake), torch.ones(64, 1))
    of_generator.zero_grad()
    generator_loss.backward()
    of_generator.step()
    lap()
    if step % 500 == 0:
        print(step, critic_loss.item(), generator_loss.item())
