import torch

torch.manual_seed(0)
mha = torch.nn.MultiheadAttention(8, 2, batch_first=True)
opt = torch.optim.SGD(mha.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(2, 4, 8)
    mask = torch.zeros(4, 4)
    if step == 2:
        mask[1] = float("-inf")
    out, w = mha(x, x, x, attn_mask=mask)  # <- fully-masked-softmax
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
