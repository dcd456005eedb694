import torch

torch.manual_seed(0)
policy = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(30):
    length = 1 if episode == 17 else 10 + episode
    states = torch.randn(length, 4)
    logits = policy(states)
    dist = torch.distributions.Categorical(logits=logits)
    actions = dist.sample()
    returns = torch.randn(length).cumsum(0)
    spread = returns.std()  # <- empty-reduction
    advantages = (returns - returns.mean()) / (spread + 1e-8)
    loss = -(dist.log_prob(actions) * advantages).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
