"""The same cure for programs in other styles: the edit lands where the number, the state or the axis is written."""

from __future__ import annotations

import pytest

from tests.detect.test_cures import at, edited
from torchwhy.detect.fixes.memory import memory
from torchwhy.detect.fixes.models import graphs, modules
from torchwhy.detect.fixes.sizes import padding, shapes
from torchwhy.detect.fixes.training import optimizers, schedules
from torchwhy.detect.fixes.values import bad_values
from torchwhy.source.edits import Source

MADE = "torch.optim.SGD(net.parameters(), lr={given})"


def first_change_at(cure, text, expression, **facts):
    """Return the lines that the first proposal for an expression writes."""
    source, finding = at(text, expression)
    return first_lines(cure(finding.location, source, **facts))


def first_lines(fixes):
    fix = next(iter(fixes), None)
    if fix is None:
        return None
    return [line[1:].strip() for line in fix.diff.splitlines() if line.startswith("+")][1:]


@pytest.mark.parametrize(
    ("program", "given", "changed"),
    [
        ("RATE = 5.0\ndef run():\n    {made}", "RATE", "RATE = 0.01"),
        ("def run(lr=5.0):\n    {made}\nrun()", "lr", "def run(lr=0.01):"),
        ("def run(lr=1e-3):\n    {made}\nrun(lr=5.0)", "lr", "run(lr=0.01)"),
        ("def run(net, lr):\n    {made}\nrun(net, 5.0)", "lr", "run(net, 0.01)"),
        ("cfg = {{'lr': 5.0}}\n{made}", "cfg['lr']", "cfg = {'lr': 0.01}"),
        ("cfg = {{'optim': {{'lr': 5.0}}}}\n{made}", "cfg['optim']['lr']", "'lr': 0.01"),
        ("class C:\n    lr: float = 5.0\n{made}", "cfg.lr", "lr: float = 0.01"),
        ("class C:\n    lr: float = 1e-3\ncfg = C(lr=5.0)\n{made}", "cfg.lr", "cfg = C(lr=0.01)"),
        (
            "p.add_argument('--lr', default=5.0)\n{made}",
            "args.lr",
            "p.add_argument('--lr', default=0.01)",
        ),
        (
            "p.add_argument('--learning-rate', type=float, default=5.0)\n{made}",
            "args.learning_rate",
            "p.add_argument('--learning-rate', type=float, default=0.01)",
        ),
        (
            "class T:\n    def __init__(self, lr=5.0):\n        self.lr = lr\n        {made}",
            "self.lr",
            "lr=0.01",
        ),
    ],
)
def test_a_rate_is_lowered_where_its_number_is_written(program, given, changed):
    text = "import torch\n" + program.format(made="o = " + MADE.format(given=given))

    lines = first_change_at(optimizers.lower_rate, text, "torch.optim.SGD(net")

    assert changed in lines[0]


def test_a_rate_of_another_file_is_lowered_there():
    config = Source("proj/config.py", "RATE = 5.0\n")
    source, finding = at(
        "import torch\nfrom proj import config\no = " + MADE.format(given="config.RATE"),
        "torch.optim.SGD(net",
    )
    beside = Source("proj/train.py", source.text, {"proj/config.py": config}.get)

    fix, *_ = optimizers.lower_rate(finding.location, beside)

    assert "--- a/proj/config.py" in fix.diff
    assert "+RATE = 0.01" in fix.diff


def test_a_number_that_may_be_one_of_two_is_left_alone():
    text = "import torch\na = {'lr': 5.0}\nb = {'lr': 4.0}\no = " + MADE.format(given="cfg['lr']")

    lines = first_change_at(optimizers.lower_rate, text, "torch.optim.SGD(net")

    assert "lr=0.1 * cfg['lr']" in lines[0]


@pytest.mark.parametrize(
    ("statement", "cured"),
    [
        ("log.append((step, loss))", "log.append((step, loss.detach()))"),
        ("log += [loss]", "log += [loss.detach()]"),
        ("log[step] = {'loss': loss, 'n': 3}", "log[step] = {'loss': loss.detach(), 'n': 3}"),
        ("mean = 0.9 * mean + 0.1 * loss", "mean = 0.9 * mean + 0.1 * loss.detach()"),
        ("total = total + loss * 8", "total = total + loss.detach() * 8"),
        ("seen = torch.cat([seen, out])", "seen = torch.cat([seen, out.detach()])"),
        ("self.sum += value * n", "self.sum += (value * n).detach()"),
    ],
)
def test_what_is_kept_is_kept_without_its_graph(statement, cured):
    text = f"import torch\nfor step in range(9):\n    {statement}\n"

    assert first_change_at(memory.kept_without_graph, text, statement) == [cured]


def test_a_state_that_is_trained_through_is_cut_between_the_steps():
    text = """
    import torch
    for x in data:
        state = 0.5 * state + net(x)
        loss = state.pow(2).mean()
        loss.backward(retain_graph=True)
    """

    lines = first_change_at(memory.kept_without_graph, text, "state = 0.5 * state + net(x)")

    assert lines == ["state = 0.5 * state.detach() + net(x)"]


def test_a_carried_tuple_of_states_is_cut_at_the_end_of_the_round():
    text = """
    import torch
    for x in data:
        out, state = lstm(x, state)
        out.sum().backward()
    """
    source, finding = at(text, "state")

    titles = [fix.title for fix in graphs.carried_state(finding.location, source, name="state")]

    assert titles[0] == "continue from state.detach()"
    assert any("tuple(part.detach() for part in state)" in title for title in titles)


def test_what_two_losses_share_is_detached_for_the_first():
    text = """
    def discriminate(real, fake):
        loss = critic(fake) - critic(real)
        loss.backward()
    def generate(fake):
        loss = -critic(fake)
        loss.backward()  # here
    """
    source, finding = at(text, "loss = -critic(fake)")

    fix, *_ = graphs.detached_for_the_first(finding.location, source, shared="fake")

    assert "critic(fake.detach()) - critic(real)" in edited(source, fix)


@pytest.mark.parametrize(
    ("written", "sizes", "cured"),
    [
        (
            "x.view(n, c, h, w)",
            ([16, 14, 14, 3], [16, 3, 14, 14]),
            "x.permute(0, 3, 1, 2)",
        ),
        (
            "y.reshape(n, t, d)",
            ([16, 4, 7, 6], [16, 7, 24]),
            "y.transpose(1, 2).reshape(n, t, d)",
        ),
        (
            "x.view(n, 3, t, 4)",
            ([16, 6, 12], [16, 3, 6, 4]),
            "x.view(n, t, 3, 4).transpose(1, 2)",
        ),
        (
            "torch.reshape(x, (n, 3, h, w))",
            ([8, 12, 10, 3], [8, 3, 12, 10]),
            "x.permute(0, 3, 1, 2)",
        ),
    ],
)
def test_axes_are_swapped_and_not_dealt_out(written, sizes, cured):
    source, finding = at(f"import torch\nz = {written}\n", written)
    before, after = sizes

    fix, *_ = shapes.axes_swapped(finding.location, source, before=before, after=after)

    assert f"z = {cured}\n" in edited(source, fix)


def test_the_odd_size_is_mended_wherever_it_stands():
    source, finding = at("self.stage3 = self.make(64, 64, 1)\n", "64")

    fixes = shapes.resized(finding.location, source, right=32, wrong=64)

    assert "self.stage3 = self.make(32, 64, 1)" in [edited(source, fix).strip() for fix in fixes]


def test_a_size_that_is_a_multiple_says_so():
    lines = first_change_at(
        shapes.resized,
        "self.fc = nn.Linear(hidden, 5)\n",
        "nn.Linear(hidden, 5)",
        right=96,
        wrong=48,
    )

    assert lines == ["self.fc = nn.Linear(2 * hidden, 5)"]


def test_a_scheduler_in_the_function_of_an_epoch_moves_to_its_caller():
    text = """
    def epoch(model, sched):
        for x in data:
            opt.step()
            sched.step()

    for _ in range(3):
        epoch(model, scheduler)
    """

    source, finding = at(text, "sched.step()")
    fix, *_ = schedules.move_to_outer_loop(finding.location, source)

    assert edited(source, fix).endswith("    epoch(model, scheduler)\n    scheduler.step()\n")
    assert "        opt.step()\n\nfor" in edited(source, fix)


def test_samples_in_dictionaries_are_padded_by_a_function_of_their_own():
    text = "import torch\nfor batch in DataLoader(data, batch_size=4):\n    pass\n"
    source, finding = at(text, "for batch in DataLoader(data, batch_size=4):")

    (fix,) = padding.padded(finding.location, source, part="['tokens']", last=False)

    assert "DataLoader(data, batch_size=4, collate_fn=pad_samples)" in edited(source, fix)
    assert "for name in samples[0]" in edited(source, fix)


def test_a_bad_batch_is_skipped_only_inside_a_loop():
    inside = "import torch\nfor x in data:\n    loss = f(x)\n    loss.backward()\n"
    outside = "import torch\ndef step(x):\n    loss = f(x)\n    loss.backward()\n"

    assert first_change_at(bad_values.skip_bad_batch, inside, "f(x)") == [
        "if not torch.isfinite(loss).all():",
        "continue",
    ]
    assert first_change_at(bad_values.skip_bad_batch, outside, "f(x)") is None


def test_a_collection_is_let_go_before_memory_is_to_be_freed():
    text = "import gc\nkept = make()\ngc.collect()\n"
    _, call = at(text, "gc.collect()")

    lines = first_change_at(
        memory.let_go, text, "kept = make()", collected=call.location, is_read=True
    )

    assert lines == ["kept.clear()"]


def test_only_a_state_of_a_recurrence_is_bounded():
    state = "import torch\nfor t in range(9):\n    h = w * h + x[t]\n"
    loss = "import torch\nfor t in range(9):\n    loss = out * out\n"

    assert first_change_at(bad_values.bounded_state, state, "w * h + x[t]") == [
        "h = torch.tanh(w * h + x[t])"
    ]
    assert first_change_at(bad_values.bounded_state, loss, "out * out") is None


def test_a_scheduler_in_the_method_of_a_batch_moves_behind_the_loop_over_batches():
    text = """
    class Engine:
        def step(self, batch):
            self.opt.step()
            self.sched.step()

        def run(self, data):
            for _ in range(3):
                for batch in data:
                    self.step(batch)
    """

    source, finding = at(text, "self.sched.step()")
    (fix,) = schedules.move_to_outer_loop(finding.location, source)

    assert edited(source, fix).endswith(
        "                self.step(batch)\n            self.sched.step()\n"
    )


def test_a_schedule_of_batches_moves_into_the_loop_over_them():
    text = """
    for epoch in range(3):
        for x in data:
            opt.step()
        sched.step()
    """

    source, finding = at(text, "sched.step()")
    (fix,) = schedules.step_with_optimizer(finding.location, source)

    assert edited(source, fix).endswith("        opt.step()\n        sched.step()\n")


def test_a_limit_of_clipping_is_raised_where_it_is_written():
    text = "LIMIT = 1e-7\nclip_grad_norm_(net.parameters(), LIMIT)\n"

    source, finding = at(text, "clip_grad_norm_(net.parameters(), LIMIT)")
    first, second = optimizers.looser_clip(finding.location, source)

    assert edited(source, first).startswith("LIMIT = 1.0\n")
    assert "clip" not in edited(source, second)


def test_only_the_operand_that_has_a_dimension_too_many_loses_it():
    source, finding = at("loss = value - goal\n", "value - goal")

    squeezed, unsqueezed = modules.same_shape(finding.location, source, left=[32, 1], right=[32])

    assert edited(source, squeezed) == "loss = value.squeeze(-1) - goal\n"
    assert edited(source, unsqueezed) == "loss = value - goal.unsqueeze(-1)\n"


def test_an_optimizer_given_the_same_model_twice_gets_the_one_it_lacks():
    text = "G, D = make()\na = Adam(D.parameters(), 1e-3)\nb = Adam(D.parameters(), 1e-3)\n"
    source, finding = at(text, "b = Adam(D.parameters(), 1e-3)")

    (fix,) = optimizers.all_parameters(finding.location, source, names=["G.0.weight"])

    assert "b = Adam(G.parameters(), 1e-3)" in edited(source, fix)
