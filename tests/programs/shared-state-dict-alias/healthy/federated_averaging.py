import copy, torch, torch.nn as nn
torch.manual_seed(0)
def make(): return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
glob = make(); clients = []
for c in range(4):
    x = torch.randn(100, 8) + .3 * c; clients.append((x, (x[:, 0] > x[:, 1]).long()))
def local(model, x, y, epochs=2):
    model.train(); opt = torch.optim.SGD(model.parameters(), lr=.1)
    for _ in range(epochs):
        for i in torch.randperm(len(x)).split(20):
            opt.zero_grad(); nn.functional.cross_entropy(model(x[i]), y[i]).backward(); opt.step()
    return model.state_dict()
for r in range(6):
    ws = [local(copy.deepcopy(glob), x, y) for x, y in clients]
    avg = copy.deepcopy(ws[0])
    for k in avg:
        for w in ws[1:]: avg[k] += w[k]
        avg[k] = torch.div(avg[k], len(ws))
    glob.load_state_dict(avg); glob.eval()
    with torch.no_grad(): print(r, [round((glob(x).argmax(1) == y).float().mean().item(), 3) for x, y in clients])
