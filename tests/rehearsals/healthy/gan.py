import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)
judge = nn.BCEWithLogitsLoss()
for _ in range(15):
    real, fake = torch.randn(32, 2) + 2, generator(torch.randn(32, 4))
    loss = judge(critic(real), torch.ones(32, 1)) + judge(critic(fake.detach()), torch.zeros(32, 1))
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()
    loss = judge(critic(fake), torch.ones(32, 1))
    of_generator.zero_grad()
    loss.backward()
    of_generator.step()
