"""An actor and a critic with an optimizer each, in sixteen environments at once."""

import torch
from laps import lap
from torch import nn

torch.manual_seed(0)
ENVIRONMENTS, LENGTH, DISCOUNT = 16, 16, 0.97
actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
of_actor = torch.optim.Adam(actor.parameters(), lr=3e-4)
of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)


def advance(state, action):
    """Move the carts by one tick; those that fell begin anew."""
    place, speed, angle, turning = state.unbind(1)
    force = action * 2.0 - 1
    speed, turning = speed + 0.2 * force - 0.02 * angle, turning + 0.3 * angle - 0.3 * force
    state = torch.stack([place + 0.02 * speed, speed, angle + 0.02 * turning, turning], 1)
    fell = state[:, 2].abs() > 0.2
    return torch.where(fell[:, None], 0.05 * torch.randn_like(state), state), fell


state = 0.05 * torch.randn(ENVIRONMENTS, 4)
falls = 0
lap()
for update in range(1900):
    states, actions, kept = [], [], []
    with torch.no_grad():
        for _ in range(LENGTH):
            action = torch.distributions.Categorical(logits=actor(state)).sample()
            states.append(state)
            actions.append(action)
            state, fell = advance(state, action)
            kept.append(1.0 - fell.float())
        value, returns = critic(state).squeeze(1), []
        for alive in reversed(kept):
            value = alive + DISCOUNT * alive * value
            returns.append(value)
    falls += LENGTH * ENVIRONMENTS - int(torch.stack(kept).sum().item())
    seen, chosen, target = torch.cat(states), torch.cat(actions), torch.cat(returns[::-1])
    values = critic(seen).squeeze(1)
    critic_loss = nn.functional.smooth_l1_loss(values, target)
    of_critic.zero_grad()
    critic_loss.backward()
    of_critic.step()
    policy = torch.distributions.Categorical(logits=actor(seen))
    advantage = target - values.detach()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    actor_loss = -(policy.log_prob(chosen) * advantage).mean() - 0.01 * policy.entropy().mean()
    of_actor.zero_grad()
    actor_loss.backward()
    nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
    of_actor.step()
    lap()
    if update % 100 == 0:
        print(update, actor_loss.item(), critic_loss.item(), falls)
        falls = 0
