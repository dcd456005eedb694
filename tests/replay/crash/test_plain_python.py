"""Errors of plain Python get no report; those that torch raised, or that concern its objects, do."""

from __future__ import annotations

import io

import pytest

from tests.support.run_program import ProgramText, run_programs
from torchwhy.report.text.terminal import Place, show

TRAINED = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = torch.randn(8, 4)
for number in range(5):
    loss = (model(data) - data[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
OWN_FUNCTION = "def scaled(x, by):\n    return x * by\n"
OWN_CLASS = "class Log:\n    pass\nlog = Log()\nlog.loss = loss\n"
NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.settings = settings

    def forward(self, x):
        return self.layer(x) * {}

Net({{"width": 4}})(torch.randn(2, 4))
"""
SAMPLES = """
import torch
from torch.utils.data import DataLoader, Dataset

class Files(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.load(f"{index}.pt")

def main():
    for batch in DataLoader(Files(), num_workers=1):
        pass

if __name__ == "__main__":
    main()
"""
PLAIN = {
    "key of a dict of tensors": TRAINED + "print({'x': data}['y'])",
    "key of a configuration": TRAINED + "settings = {'lr': 1}\nprint(settings['epochs'], loss)",
    "index of a list of tensors": TRAINED + "losses = [loss]\nprint(losses[3])",
    "own function, wrong argument": TRAINED + OWN_FUNCTION + "scaled(data, times=3)",
    "own class, wrong argument": TRAINED + "class A:\n    pass\nA(data)",
    "not a function": TRAINED + "number(data)",
    "attribute of an own object": TRAINED + OWN_CLASS + "print(log.losses, loss)",
    "unknown name": TRAINED + "nn.functional.mse_loss(model(data), targets)",
    "division by zero": TRAINED + "print(loss.item() / 0)",
    "text and number": TRAINED + "print('loss ' + loss.item())",
    "dict changed": TRAINED + "d = model.state_dict()\nfor k in d:\n    d['_' + k] = d.pop(k)",
    "no end of calls": TRAINED + "def f(x):\n    return f(x + 1)\nf(data)",
    "failed assertion": TRAINED + "assert loss.item() < 0",
    "own exception": TRAINED
    + "raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB.')",
    "missing file": TRAINED + "open('no.csv')",
    "missing checkpoint": TRAINED + "torch.load('no.pt')",
    "missing module": "import torch\nimport no_such_module",
    "missing name": "import torch\nfrom torch.optim import NoSuchOptimizer",
    "key in forward": NET.format("self.settings['scale']"),
    "name in forward": NET.format("scale"),
    "missing file in a worker": SAMPLES,
}
OF_TORCH = {
    "attribute of a tensor": TRAINED + "print(data.shap)",
    "attribute of a module": TRAINED + "print(model.wieght)",
    "key of a ModuleDict": TRAINED + "nn.ModuleDict({'a': model})['b']",
    "index of a tensor": TRAINED + "data.softmax(3)",
    "operand": TRAINED + "data + None",
    "argument of torch": TRAINED + "nn.functional.mse_loss(data, data, reduce_by='mean')",
    "missing package of torch": "from torch.utils.tensorboard import SummaryWriter",
}


def shown(outcome):
    stream = io.StringIO()
    show(outcome.report, Place(outcome.run_directory, outcome.run_directory), stream)
    return stream.getvalue()


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    programs = [
        ProgramText(name.replace(" ", "-"), text) for name, text in {**PLAIN, **OF_TORCH}.items()
    ]
    return run_programs(programs, tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize("name", PLAIN)
def test_errors_of_plain_python_get_no_report_but_one_line(outcomes, name):
    outcome = outcomes[name.replace(" ", "-")]

    assert outcome.ended.exit_code == 1
    assert outcome.report.findings == (), outcome.describe()
    assert shown(outcome).count("torchwhy: ") == 1


@pytest.mark.parametrize("name", OF_TORCH)
def test_errors_of_torch_and_its_objects_are_reported(outcomes, name):
    assert outcomes[name.replace(" ", "-")].root is not None
