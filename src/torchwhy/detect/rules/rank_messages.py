"""Messages about ranks: one that is gone, gradients that never came, and those of a process whose children failed."""

from __future__ import annotations

from torchwhy.detect.rules import message_kinds as kinds
from torchwhy.detect.rules.message_rows import SPECIAL, Row

RANK_MESSAGES = (
    Row(
        kinds.PeerLost,
        r"Connection (?:closed|reset) by peer",
        "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:20406",
    ),
    Row(
        kinds.PeerLost,
        r"Connection was likely closed\. Did the remote server shutdown or crash",
        "Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?",
    ),
    Row(
        kinds.PeerLost,
        r"Gloo connectFullMesh failed",
        "Gloo connectFullMesh failed with [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:144] no error",
    ),
    Row(
        kinds.PeerLost,
        r"remote process exiting prematurely|NCCL communicator was aborted",
        "NCCL error in: ProcessGroupNCCL.cpp:1970, remote process exited or there was a network error. "
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
    ),
    Row(
        kinds.PeerLost,
        r"Watchdog caught collective operation timeout",
        "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE) ran for 600000 "
        "milliseconds before timing out.",
    ),
    Row(
        kinds.Unreduced,
        r"Expected to have finished reduction in the prior iteration",
        "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates "
        "that your module has parameters that were not used in producing loss.",
    ),
    Row(
        kinds.ChildFailed,
        r"[Pp]rocess (?P<number>\d+) terminated with (?:signal|exit code|the following error)",
        "process 1 terminated with exit code 1",
        specificity=SPECIAL,  # It may quote the message of that process.
    ),
)
