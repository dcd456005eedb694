import torch
from torch import nn
from torch.testing import assert_close

torch.manual_seed(0)
encoder = nn.Linear(5, 5)
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)


def is_positive(matrix):
    try:
        torch.linalg.cholesky(matrix)
        return True
    except RuntimeError:
        return False


seen = []
for step in range(12):
    x = torch.randn(32, 5)
    optimizer.zero_grad()
    z = encoder(x)
    covariance = z.T @ z / 32 + 0.1 * torch.eye(5)
    assert is_positive(covariance)
    assert_close(covariance, covariance.T)
    torch.testing.assert_close(z, z + 0.0)
    seen.extend(z.detach())
    seen.append(covariance.detach().trace())
    loss = (z - x).pow(2).mean() + covariance.trace() * 0.01
    print("loss", loss.item(), z.abs().max())
    loss.backward()
    optimizer.step()
