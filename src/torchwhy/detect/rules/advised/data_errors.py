"""Errors of datasets, loaders, checkpoints, parameter groups, schedules and processes, with advice."""

from __future__ import annotations

from torchwhy.detect.rules.advised.advice_rows import Advised
from torchwhy.detect.rules.message_rows import SPECIAL

DATA_ERRORS = (
    Advised(
        "unknown-sample-type",
        r"default_collate: batch must contain .*; found (?:<class ')?(?P<one>[\w.<]+)",
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class "
        "'__main__.Graph'>",
        "return tensors, arrays or numbers, or tuples and dicts of them, from the dataset instead of {one}; or pass "
        "the DataLoader a `collate_fn` that builds a batch from such samples",
    ),
    Advised(
        "object-array",
        r"can't convert np\.ndarray of type numpy\.object_",
        "can't convert np.ndarray of type numpy.object_. The only supported types are: float64, float32, float16",
        "convert the array to numbers first, `array.astype(np.float32)`; if that fails, it holds text or rows of "
        "different lengths, which must be encoded, padded or left out",
    ),
    Advised(
        "split-lengths",
        r"Sum of input lengths does not equal the length of the input dataset",
        "Sum of input lengths does not equal the length of the input dataset!",
        "let the last part take the rest: `len(dataset) - train_size`; or pass fractions, `random_split(dataset, [0.8, "
        "0.2])`",
    ),
    Advised(
        "sampler-and-shuffle",
        r"sampler option is mutually exclusive with shuffle",
        "sampler option is mutually exclusive with shuffle",
        "remove `shuffle=True`: the sampler decides the order",
    ),
    Advised(
        "empty-dataset",
        r"num_samples should be a positive integer value, but got num_samples=0",
        "num_samples should be a positive integer value, but got num_samples=0",
        "find out why the dataset has no samples: its `len()` is 0, most often because a path or a file pattern "
        "matches nothing",
    ),
    Advised(
        "attribute-of-subset",
        r"'Subset' object has no attribute '(?P<one>\w+)'",
        "'Subset' object has no attribute 'classes'",
        "ask the dataset that was split, `subset.dataset.{one}`: a Subset, such as `random_split` returns, has only "
        "its samples",
    ),
    Advised(
        "state-for-model",
        r"'collections\.OrderedDict' object (?:is not callable|has no attribute "
        r"'(?:eval|train|to|cuda|cpu|parameters|state_dict|load_state_dict|modules)')",
        "'collections.OrderedDict' object has no attribute 'eval'",
        "create the model first, then load the weights into it: `model.load_state_dict(torch.load(path))`; the file "
        "holds what `state_dict()` returned, not the model",
    ),
    Advised(
        "path-for-state",
        r"Expected state_dict to be dict-like, got <class '(?:str|pathlib\.\w+)'>",
        "Expected state_dict to be dict-like, got <class 'str'>.",
        "read the file first: `model.load_state_dict(torch.load(path))`",
        specificity=SPECIAL,
    ),
    Advised(
        "attribute-of-wrapper",
        r"'(?:Distributed)?DataParallel' object has no attribute '(?P<one>\w+)'",
        "'DataParallel' object has no attribute 'fc'",
        "take it from the model inside the wrapper: `.module.{one}`",
    ),
    Advised(
        "state-without-groups",
        r"^'param_groups'$",
        "'param_groups'",
        "pass it what `optimizer.state_dict()` returned: this state has no `param_groups`, so it belongs to something "
        "else (a scheduler, a model, a whole checkpoint); look at the line that saved it",
    ),
    Advised(
        "rate-to-resume-from",
        r"param 'initial_lr' is not specified in param_groups",
        "param 'initial_lr' is not specified in param_groups[0] when resuming scheduler with last_epoch >= 0.",
        "save the states of optimizer and scheduler with the model; then create the scheduler without `last_epoch` and "
        "load both: `optimizer.load_state_dict(…)`, `scheduler.load_state_dict(…)`",
    ),
    Advised(
        "functions-per-group",
        r"Expected (?P<one>\d+) lr_lambdas, but got (?P<other>\d+)",
        "Expected 2 lr_lambdas, but got 1",
        "give {one} functions, one for each parameter group, or a single one outside of a list, which serves all "
        "groups",
    ),
    Advised(
        "parameter-in-two-groups",
        r"some parameters appear in more than one parameter group",
        "some parameters appear in more than one parameter group",
        "put each parameter into one group: `model.parameters()` contains those of all its parts, so list only the "
        "parts that no other group has",
    ),
    Advised(
        "no-process-group",
        r"Default process group has not been initialized",
        "Default process group has not been initialized, please make sure to call init_process_group.",
        "call `torch.distributed.init_process_group()` before this line, in a program started by `torchrun`; a single "
        "process needs no process group and no DistributedDataParallel",
    ),
    Advised(
        "variables-of-launcher",
        r"environment variable (?P<one>\w+) expected, but not set",
        "Error initializing torch.distributed using env:// rendezvous: environment variable RANK expected, but not set",
        "start the program by `torchrun --nproc_per_node=N`, which sets {one} for each process; a single process needs "
        "no `init_process_group`",
    ),
)
