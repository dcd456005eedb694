import torch

torch.manual_seed(0)
e = torch.nn.Embedding(10, 4)
opt = torch.optim.AdamW(e.parameters(), lr=0.1, eps=0, fused=True)  # <- optimizer-epsilon
for step in range(4):
    loss = e(torch.randint(0, 4, (8,))).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
