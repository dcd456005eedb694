"""Tensors and settings that few programs use, on the first step and later."""

import warnings

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
import witness

warnings.simplefilter("ignore")
witness.seed()
torch.set_default_dtype(torch.float64)
torch.use_deterministic_algorithms(True)
torch.autograd.set_detect_anomaly(True)
model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def strange():
    jagged = torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(3, 4)], layout=torch.jagged)
    witness.swear("jagged", model(jagged).values())
    padded = torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(3, 4)])
    witness.swear("padded", padded.to_padded_tensor(0.0))
    csr = torch.eye(4).to_sparse_csr()
    witness.swear("csr", csr @ torch.ones(4, 1))
    coo = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (4, 4)).coalesce()
    witness.swear("coo", torch.sparse.mm(coo, torch.ones(4, 2)))
    witness.swear("mkldnn", torch.ones(2, 2, dtype=torch.float32).to_mkldnn().to_dense())
    quantized = torch.quantize_per_tensor(torch.ones(3, dtype=torch.float32), 0.1, 0, torch.quint8)
    witness.swear("quantized", quantized.dequantize())
    with torch.device("meta"):
        print(nn.Linear(3, 3)(torch.ones(2, 3)).shape)
    with FakeTensorMode():
        print(nn.Linear(3, 3)(torch.ones(2, 3)).shape)
    empty = nn.Linear(4, 2)(torch.zeros(0, 4))
    witness.swear("empty", [empty, empty.sum()])
    freed = torch.ones(5)
    freed.untyped_storage().resize_(0)
    freed.untyped_storage().resize_(40)
    witness.swear("freed", freed.fill_(2.0))
    text = str(torch.randn(3)) + repr(nn.Linear(2, 2).weight)
    witness.swear("text", text)
    witness.swear("conjugate", torch.resolve_conj(torch.randn(3, dtype=torch.complex128).conj() * 2))
    witness.swear("float8", torch.ones(3).to(torch.float8_e4m3fn).to(torch.float32))
    witness.swear("bits", torch.ones(3).view(torch.int64) ^ 1)


for step in range(3):
    strange()
    x = torch.randn(6, 4)
    loss = (model(x) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    loss.backward(inputs=list(model.parameters())[:1])
    optimizer.step()
    witness.swear("loss", loss)
exported = torch.export.export(model, (torch.randn(2, 4),))
print(exported.graph_module.code)
witness.swear("model", model)
witness.testify()
