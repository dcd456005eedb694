"""The rows of the table that are about torch: every private name of it that torchwhy uses."""

from __future__ import annotations

from torchwhy.observe.torch_features.feature import Feature

ITERATOR = "torch.utils.data.dataloader._BaseDataLoaderIter"
FETCHER = "torch.utils.data._utils.fetch"
NO_OPERATIONS = (
    "single operations are not recorded: the report says when a value became NaN or infinite, not "
    "which operation made it, and explains crashes in less detail"
)
HOOKS = ("forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks")

OF_TORCH = (
    # Modes and tensor subclasses of the program.
    Feature(
        "dispatch-mode",
        ("torch.utils._python_dispatch.TorchDispatchMode",),
        f"{NO_OPERATIONS}; dropout left on during evaluation goes unnoticed",
        ("replay.microscope.dispatch_mode.Microscope", "observe.probes.forwards.dropouts.Watch"),
    ),
    Feature(
        "dispatch-stack",
        (
            "torch._C._len_torch_dispatch_stack",
            "torch._C._pop_torch_dispatch_stack",
            "torch._C._push_on_torch_dispatch_stack",
        ),
        f"{NO_OPERATIONS}; the program's own dispatch modes see what torchwhy computes",
        ("observe.torch_features.mode_stack.unseen", "observe.torch_features.mode_stack.put_on"),
    ),
    Feature(
        "write-counts",
        (
            "torch._C._dispatch_has_kernel_for_dispatch_key",
            "torch._C._SetExcludeDispatchKeyGuard",
            "torch._C.DispatchKey",
        ),
        "in a recorded step torch does not notice that an optimizer changed weights which a later "
        "backward pass needs",
        ("observe.torch_features.mode_stack.DispatchMode.run",),
    ),
    Feature(
        "function-stack",
        ("torch._C._len_torch_function_stack",),
        "losses read during evaluation are not checked, and every step takes the slow path",
        ("observe.guest.Guests.lightly", "observe.probes.reads.note_of"),
    ),
    Feature(
        "function-switch",
        ("torch._C.DisableTorchFunction",),
        "the program's tensor subclasses and function modes see what torchwhy asks of their tensors",
        ("observe.torch_features.mode_stack.unseen",),
    ),
    Feature(
        "mode-and-compiler",
        ("torch.utils._python_dispatch.TorchDispatchMode._should_skip_dynamo",),
        "the first recorded step may take 1.6 s longer, if torch loads its compiler for it",
        ("observe.torch_features.mode_stack.DispatchMode",),
        since="torch 2.11",
        only_time=True,
    ),
    # The graph and the engine that runs it backwards.
    Feature(
        "engine",
        (
            "torch.autograd.variable.Variable._execution_engine",
            "torch.autograd.graph._engine_run_backward:t_outputs",
            "torch.autograd.graph._engine_run_backward:kwargs",
        ),
        "losses and backward passes are not recorded: torchwhy notices a bad loss only by its "
        "gradients, and says nothing about how the loss develops",
        ("observe.probes.backward.install",),
    ),
    Feature(
        "backward-entry",
        ("torch.autograd.graph._engine_run_backward",),
        "user code that runs inside a backward pass is not distinguished from the code that called backward()",
        ("observe.torch_features.autograd_nodes.backward_entry_code",),
    ),
    Feature(
        "backward-roots",
        ("torch.autograd._make_grads",),
        "torchwhy inspects one more operation per backward pass",
        ("observe.torch_features.autograd_nodes.root_gradients_code",),
        only_time=True,
    ),
    Feature(
        "node-numbers",
        (
            "torch._C._autograd._get_sequence_nr",
            "torch._C._functions.AccumulateGrad._sequence_nr",
        ),
        f"{NO_OPERATIONS}; backward passes are not matched with forward passes",
        (
            "observe.torch_features.autograd_nodes.next_node_number",
            "observe.torch_features.autograd_nodes.number_of_node",
        ),
    ),
    Feature(
        "current-node",
        ("torch._C._current_autograd_node",),
        NO_OPERATIONS,
        ("observe.torch_features.autograd_nodes.current_node",),
    ),
    Feature(
        "saved-values",
        ("torch._C._functions.ExpBackward0._saved_result",),
        "when an in-place write breaks a backward pass, the operation that needed the old value is not named",
        ("observe.torch_features.autograd_nodes.saved_names",),
    ),
    # Loaders.
    Feature(
        "loader-iterator",
        (
            ITERATOR,
            f"{ITERATOR}()._num_yielded",
            f"{ITERATOR}()._sampler_iter",
            f"{ITERATOR}.__next__:data",
        ),
        "batches are not recorded: the report names no sample, and instead of repeating a failed "
        "step torchwhy runs the whole program again",
        (
            "observe.probes.batches.BatchKeeper.install",
            "observe.torch_features.loader_parts.loader_iterator_class",
        ),
    ),
    Feature(
        "loader-settings",
        (
            f"{ITERATOR}()._dataset",
            f"{ITERATOR}()._index_sampler",
            f"{ITERATOR}()._collate_fn",
            f"{ITERATOR}()._num_workers",
        ),
        "the dataset behind a batch and the length of an epoch are unknown",
        (
            "observe.torch_features.loader_parts.dataset_of",
            "observe.torch_features.loader_parts.fetches_by_itself",
        ),
    ),
    Feature(
        "worker-start",
        ("torch.utils.data.dataloader._MultiProcessingDataLoaderIter()._worker_init_fn",),
        "torchwhy check cannot tell whether workers draw the same random numbers if the program "
        "starts them with a function of its own",
        ("observe.torch_features.loader_parts.worker_start_of",),
    ),
    Feature(
        "loader-fetcher",
        (
            "torch.utils.data.dataloader._DatasetKind.create_fetcher",
            f"{ITERATOR}()._dataset_kind",
            f"{ITERATOR}()._auto_collation",
            f"{ITERATOR}()._drop_last",
        ),
        "a bad batch is not fetched again, so the line of data code that spoiled it is not found",
        ("observe.torch_features.loader_parts.fetch_again",),
    ),
    Feature(
        "fetching",
        (
            f"{FETCHER}._MapDatasetFetcher.fetch",
            f"{FETCHER}._IterableDatasetFetcher.fetch",
            f"{FETCHER}._MapDatasetFetcher.fetch:possibly_batched_index",
            f"{FETCHER}._MapDatasetFetcher.fetch:data",
        ),
        "the index of a sample that does not fit into its batch is not reported",
        (
            "observe.torch_features.loader_parts.fetching_code",
            "observe.torch_features.loader_parts.fetched_in",
        ),
    ),
    Feature(
        "loader-workers",
        (
            "torch.utils.data._utils.worker._worker_loop",
            "multiprocessing.spawn._main()._inheriting",
        ),
        "torchwhy watches spawned DataLoader workers as if they trained, which slows them down",
        ("observe.torch_features.loader_parts.leave_in_workers",),
    ),
    # Tensors.
    Feature(
        "versions",
        ("torch.Tensor._version",),
        "in-place writes are not counted: uncleared gradients and untrained parameters go "
        "unreported, and instead of repeating a failed step torchwhy runs the whole program again",
        ("observe.torch_features.tensor_parts.version_of",),
    ),
    Feature(
        "memory",
        ("torch.UntypedStorage._cdata", "torch.multiprocessing.reductions.StorageWeakRef"),
        f"{NO_OPERATIONS}; tensors that share memory are not recognized",
        (
            "observe.torch_features.tensor_parts.storage_key",
            "observe.torch_features.tensor_parts.weak_storage",
        ),
    ),
    Feature(
        "zero-tensors",
        ("torch.Tensor._is_zerotensor",),
        "under forward-mode differentiation a probe may fail and be switched off",
        ("observe.torch_features.tensor_parts.has_values",),
    ),
    Feature(
        "transforms",
        (
            "torch._C._functorch.is_functorch_wrapped_tensor",
            "torch._C._functorch.maybe_current_level",
        ),
        "under torch.func transforms such as vmap a probe may fail and be switched off",
        (
            "observe.torch_features.tensor_parts.has_values",
            "observe.torch_features.tensor_parts.is_tracing",
        ),
    ),
    Feature(
        "sparse-values",
        ("torch.Tensor._values",),
        "sparse gradients are coalesced before each check",
        ("observe.torch_features.tensor_parts.values_of_sparse",),
        only_time=True,
    ),
    Feature(
        "norms-together",
        ("torch._foreach_norm",),
        "weights are measured one at a time",
        ("observe.torch_features.tensor_parts.norms_of",),
        only_time=True,
    ),
    Feature(
        "copies-together",
        ("torch._foreach_copy_",),
        "buffers are copied one at a time",
        ("observe.torch_features.tensor_parts.copy_all",),
        only_time=True,
    ),
    Feature(
        "check-together",
        ("torch._amp_foreach_non_finite_check_and_unscale_",),
        "gradients are checked one at a time",
        ("observe.steps.gradients.Reading",),
        only_time=True,
    ),
    Feature(
        "tensor-exchange",
        ("torch.Tensor.__dlpack_c_exchange_api__", "C dlpack_exchange_api"),
        "the native extension is not used, so that each step costs about 40 µs more",
        ("observe.native.native_descriptors.is_ready",),
        since="torch 2.10",
        only_time=True,
    ),
    # Modules, optimizers and what else is torch's.
    Feature(
        "module-call",
        (
            "torch.nn.Module._call_impl",
            "torch.nn.Module._wrapped_call_impl",
            "torch.nn.Module._wrapped_call_impl:args",
            "torch.nn.Module._wrapped_call_impl:kwargs",
        ),
        "tracebacks through a watched model include torch's hook frames, dropout left on during "
        "evaluation goes unnoticed, and the input of a crashed layer is unknown",
        (
            "observe.torch_features.module_parts.module_call_code",
            "observe.torch_features.module_parts.unhooked_call",
        ),
    ),
    Feature(
        "module-tables",
        (
            "torch.nn.Module()._parameters",
            "torch.nn.Module()._buffers",
            "torch.nn.Module()._modules",
        ),
        "parameters are looked up by slower public methods",
        (
            "observe.torch_features.module_parts.parameters_in",
            "observe.torch_features.module_parts.parts_in",
        ),
        only_time=True,
    ),
    Feature(
        "module-hooks",
        (
            *(f"torch.nn.Module()._{kind}" for kind in HOOKS),
            *(f"torch.nn.modules.module._global_{kind}" for kind in HOOKS),
        ),
        "torchwhy runs no experiment that calls the model, because it cannot rule out hooks; "
        "tracebacks through a watched model include torch's hook frames",
        (
            "observe.torch_features.module_parts.has_foreign_hooks",
            "observe.torch_features.module_parts.has_own_hooks",
        ),
    ),
    Feature(
        "layer-bases",
        (
            "torch.nn.modules.batchnorm._NormBase",
            "torch.nn.modules.batchnorm._BatchNorm",
            "torch.nn.modules.conv._ConvNd",
            "torch.nn.modules.dropout._DropoutNd",
            "torch.nn.modules.instancenorm._InstanceNorm",
            "torch.nn.modules.loss._Loss",
        ),
        "layers and losses derived from torch's private base classes are not recognized",
        ("observe.torch_features.layer_kinds.PUBLIC",),
    ),
    Feature(
        "state-loading",
        (
            "torch.nn.Module._load_from_state_dict",
            "torch.nn.Module.load_state_dict:state_dict",
            "torch.nn.Module.load_state_dict:strict",
        ),
        "a state that a model loads without effect goes unnoticed",
        ("observe.torch_features.module_parts.note_loads",),
    ),
    Feature(
        "checkpoint-reading",
        ("torch.serialization._load", "torch.serialization._legacy_load"),
        "checkpoints that are read and not used, or used in part, go unnoticed",
        ("observe.torch_features.torch_internals.note_checkpoints",),
    ),
    Feature(
        "optimizer-birth",
        ("torch.optim.Optimizer._patch_step_function",),
        "an optimizer is recorded from its first step on; one that never steps goes unnoticed",
        ("observe.torch_features.torch_internals.note_new_optimizers",),
    ),
    Feature(
        "loss-scale",
        ("torch.amp.GradScaler()._scale",),
        "steps under a GradScaler take the slow path",
        ("observe.torch_features.tensor_parts.scale_tensor",),
        only_time=True,
    ),
    Feature(
        "operator-schema",
        ("torch._ops.OpOverload()._schema", "torch._ops.OpOverload()._overloadname"),
        NO_OPERATIONS,
        (
            "observe.torch_features.torch_internals.schema_of",
            "observe.torch_features.torch_internals.overload_name",
        ),
    ),
    Feature(
        "script-builtins",
        ("torch.jit._builtins._get_builtin_table",),
        "`torch.isnan(loss)` and similar calls are not recorded, because `torch.jit.script` could "
        "not compile the functions that record them",
        ("observe.torch_features.torch_internals.introduce_to_script",),
    ),
    Feature(
        "rank-store",
        ("torch.distributed.distributed_c10d._get_default_store",),
        "a failing step of several ranks is not repeated in place; a second run explains it",
        ("observe.torch_features.torch_internals.default_store",),
    ),
    Feature(
        "reduction-hooks",
        ("torch.nn.parallel.DistributedDataParallel()._comm_hooks",),
        "weights that differ between ranks go unnoticed where each rank keeps gradients of its own",
        ("observe.torch_features.torch_internals.changes_reduction",),
    ),
    Feature(
        "torch-frames",
        (
            "module torch._ops",
            "module torch._tensor",
            "module torch._tensor_str",
            "module torch._dynamo",
            "torch.cuda._lazy_init",
        ),
        "some of torch's frames in a traceback are not recognized, so that a crash may be explained "
        "in less detail",
        (
            "observe.torch_features.torch_internals.is_compiler_error",
            "observe.program.exceptions.without_own_frames",
        ),
    ),
)
