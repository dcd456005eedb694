import torch


class Agent:
    def __init__(self):
        self.net = torch.nn.Linear(4, 2)
        self.optim = torch.optim.RMSprop(self.net.parameters(), lr=1e-3)
        self.log_probs, self.rewards = [], []

    def act(self, state):
        d = torch.distributions.Categorical(logits=self.net(state))
        a = d.sample()
        self.log_probs.append(d.log_prob(a))
        return a.item()

    def learn(self):
        returns, g = [], 0.0
        for r in reversed(self.rewards):
            g = r + 0.99 * g
            returns.insert(0, g)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)  # <- empty-reduction
        loss = torch.stack([-lp * r for lp, r in zip(self.log_probs, returns)]).sum()
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        self.log_probs.clear()
        self.rewards.clear()


torch.manual_seed(0)
agent = Agent()
for episode in range(20):
    steps = 1 if episode == 13 else 6
    for t in range(steps):
        agent.act(torch.randn(4))
        agent.rewards.append(float(t % 3))
    agent.learn()
