# A corridor whose end is found late: until then there is nothing to learn, and the loss is next to nothing.
import torch, random, math
from torch import nn
import torch.nn.functional as F
torch.manual_seed(4); random.seed(4)
import copy
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 2)); tgt = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), lr=0.3)
buf, s = [], 0
one = lambda i: F.one_hot(torch.as_tensor(i), 5).float()
for step in range(600):
    a = random.randrange(2) if random.random() < max(.1, 1 - step / 100) else int(net(one(s)).argmax()); s2 = min(4, max(0, s + (1 if a else -1))); rew = 1. if s2 == 4 else 0.; buf.append((s, a, rew, s2, s2 == 4)); s = 0 if s2 == 4 else s2
    if len(buf) < 8: continue
    S, A, R, S2, D = zip(*random.sample(buf, 8)); S, S2, A, R, D = one(list(S)), one(list(S2)), torch.tensor(A), torch.tensor(R), torch.tensor(D).float()
    with torch.no_grad(): y = R + 0.99 * (1 - D) * tgt(S2).max(1)[0]
    loss = F.mse_loss(net(S).gather(1, A[:, None]).squeeze(1), y); opt.zero_grad(); loss.backward()
    opt.step()
    if step % 10 == 0: tgt.load_state_dict(net.state_dict())
print(loss.item())

