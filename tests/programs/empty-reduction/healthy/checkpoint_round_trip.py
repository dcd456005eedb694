import torch

torch.manual_seed(0)
m = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 1))
opt = torch.optim.Adam(m.parameters())
torch.save(m.state_dict(), "c.pt")
m.load_state_dict(torch.load("c.pt"))
acc = []
for epoch in range(2):
    m.train()
    for i in range(3):
        loss = m(torch.randn(5, 4)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    m.eval()
    with torch.no_grad():
        out = m(torch.randn(1, 4))
        acc.append(out.std().item())
print(acc)
