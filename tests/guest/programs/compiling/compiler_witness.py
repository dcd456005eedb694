"""What a compiled program swears to besides its numbers: graphs, guards, recompilations, breaks and warnings."""

import logging
import re
import sys
import warnings
from pathlib import Path

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd

sys.path.append(str(Path(__file__).parents[1]))
import witness

graphs = []
told = []


class Told(logging.Handler):
    """Keeps what the compiler logs about recompilations and graph breaks, without its own and our addresses."""

    def emit(self, record):
        told.append(without_addresses(record.getMessage()))


def without_addresses(text):
    return re.sub(r"0x[0-9a-f]+|\b\d{6,}\b", "N", text)


def listen():
    warnings.simplefilter("always")
    warnings.simplefilter("ignore", DeprecationWarning)
    torch._logging.set_logs(recompiles=True, graph_breaks=True)
    for name, logger in logging.Logger.manager.loggerDict.items():
        if name.endswith(("__recompiles", "__graph_breaks")) and isinstance(logger, logging.Logger):
            logger.handlers, logger.propagate = [Told()], False
        for handler in getattr(logger, "handlers", ()):
            handler.setFormatter(logging.Formatter("%(message)s"))


listen()


def counting(graph, inputs):
    """Keep the operations of a graph and run it as it is."""
    graphs.append([f"{node.op} {_name(node.target)}" for node in graph.graph.nodes])
    return graph.forward


def boxed(graph, inputs):
    """Do the same for AOTAutograd."""
    return make_boxed_func(counting(graph, inputs))


def counting_aot(graph, inputs):
    """Keep the operations of forward and backward graphs as AOTAutograd makes them."""
    counting(graph, inputs)
    return aot_autograd(fw_compiler=boxed, bw_compiler=boxed)(graph, inputs)


def _name(target):
    return target if isinstance(target, str) else getattr(target, "__name__", repr(target))


def guards_of(*functions):
    """Return the guards of every compiled version of these functions, without addresses."""
    found = []
    for function in functions:
        code = getattr(function, "__code__", None) or function.forward.__code__
        for entry in torch._dynamo.eval_frame._debug_get_cache_entry_list(code):
            found.append(without_addresses(str(entry.guard_manager)))
    return found


def testify(*compiled):
    """Write down what the compiler made, then everything else."""
    counters = torch._dynamo.utils.counters
    for number, graph in enumerate(graphs):
        witness.swear(f"graph {number}", graph)
    for kind in ("frames", "stats", "graph_break", "unimplemented", "recompiles"):
        witness.swear(kind, dict(counters[kind]))
    for text in guards_of(*compiled):
        witness.swear("guards", text.splitlines())
    frames = [code() for code in torch._dynamo.convert_frame.input_codes.seen]
    witness.swear("frames taken over", [(c.co_filename, c.co_name) for c in frames if c is not None])
    witness.swear("log", told)
    print([len(graph) for graph in graphs], dict(counters["frames"]), dict(counters["stats"]))
    print("breaks", sum(counters["graph_break"].values()), "lines logged", len(told))
    witness.testify()
