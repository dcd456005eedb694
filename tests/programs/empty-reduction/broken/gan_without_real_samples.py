import torch
import torch.nn.functional as F

torch.manual_seed(0)
generator = torch.nn.Linear(2, 3)
critic = torch.nn.Linear(3, 1)
generator_optimizer = torch.optim.Adam(generator.parameters())
critic_optimizer = torch.optim.Adam(critic.parameters())
for step in range(8):
    real = torch.randn(4, 3)
    real = real[real[:, 0] > (-9 if step < 5 else 9)]
    fake = generator(torch.randn(4, 2)).detach()
    real_loss = F.softplus(-critic(real)).mean()  # <- empty-reduction
    critic_loss = real_loss + F.softplus(critic(fake)).mean()
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    generator_loss = F.softplus(-critic(generator(torch.randn(4, 2)))).mean()
    generator_optimizer.zero_grad()
    generator_loss.backward()
    generator_optimizer.step()
