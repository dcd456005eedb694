import torch
from torch import nn
import witness

witness.seed()
for dtype in (torch.float16, torch.bfloat16):
    model = nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**22, growth_interval=2)
    for step in range(8):
        x, y = torch.randn(12, 6), torch.randint(2, (12,))
        with torch.autocast("cpu", dtype=dtype):
            loss = nn.functional.cross_entropy(model(x) * 30, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        print(step, loss.item(), norm.item(), scaler.get_scale())
        witness.swear("loss", loss)
    witness.swear("model", model)
    witness.swear("optimizer", optimizer)
    witness.swear("scaler", scaler)
witness.testify()
