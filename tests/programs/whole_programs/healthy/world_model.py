import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); enc, dyn, dec, rew = nn.Linear(4, 16), nn.GRUCell(1 + 16, 16), nn.Linear(16, 4), nn.Linear(16, 1); actor, critic = nn.Sequential(nn.Linear(16, 32), nn.ELU(), nn.Linear(32, 1), nn.Tanh()), nn.Sequential(nn.Linear(16, 32), nn.ELU(), nn.Linear(32, 1))
wm = [p for m in (enc, dyn, dec, rew) for p in m.parameters()]; ow, oa, oc = torch.optim.Adam(wm, 3e-3), torch.optim.Adam(actor.parameters(), 1e-3), torch.optim.Adam(critic.parameters(), 2e-3)
for it in range(30):
    s = torch.randn(16, 4); a = torch.rand(8, 16, 1) * 2 - 1; h = torch.tanh(enc(s)); lw = 0.; hs = []
    for t in range(8): s = .9 * s + .3 * a[t]; r = -s.pow(2).mean(1, keepdim=True); h = dyn(torch.cat([a[t], torch.tanh(enc(s))], 1), h); lw = lw + F.mse_loss(dec(h), s) + F.mse_loss(rew(h), r); hs.append(h.detach())
    ow.zero_grad(); (lw / 8).backward(); ow.step()
    for p in wm: p.requires_grad_(False)
    z = torch.cat(hs); rs, zs = [], [z]
    for t in range(5): z = dyn(torch.cat([actor(z), torch.tanh(enc(dec(z)))], 1), z); rs.append(rew(z)); zs.append(z)
    V = critic(zs[-1])
    for r in reversed(rs): V = r + .95 * V
    la = -V.mean(); oa.zero_grad(); la.backward(); oa.step(); lc = F.mse_loss(critic(zs[0]), V.detach()); oc.zero_grad(); lc.backward(); oc.step()
    for p in wm: p.requires_grad_(True)
    if it % 10 == 0: print(it, round(lw.item() / 8, 3), round(la.item(), 3), round(lc.item(), 3))
