import torch

torch.manual_seed(0)
m = torch.nn.Linear(4, 4).to(torch.bfloat16)
opt = torch.optim.Adam(m.parameters())
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**120)
for step in range(6):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = m(torch.randn(4, 4).bfloat16()).float().pow(2).mean()
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
