import torch

torch.manual_seed(0)
policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
for step in range(6):
    observation = torch.randn(8, 4)
    spread = observation.std(dim=1, keepdim=True)
    if step == 3:
        spread[2] = 0.0
    scaled = observation / spread  # <- division-by-zero
    logits = policy(scaled)
    chance = torch.distributions.Categorical(logits=logits)
    action = chance.sample()
    loss = -(chance.log_prob(action) * observation.sum(1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
