import torch

torch.manual_seed(0)
m = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
opt = torch.optim.AdamW(m.parameters())
for step in range(4):
    x = torch.randn(3, 5, 8)
    pad = torch.arange(5)[None] >= torch.tensor([5, 3, 1])[:, None]
    out = m(
        x, src_key_padding_mask=pad, mask=torch.nn.Transformer.generate_square_subsequent_mask(5)
    )
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    opt.step()
