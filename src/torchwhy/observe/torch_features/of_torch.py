"""The rows of the table that are about torch: every private name of it that torchwhy uses."""

from __future__ import annotations

from torchwhy.observe.torch_features.feature import Feature

ITERATOR = "torch.utils.data.dataloader._BaseDataLoaderIter"
FETCHER = "torch.utils.data._utils.fetch"
NO_OPERATIONS = (
    "no step is looked at operation by operation: the report says that a value went bad, "
    "not which operation made it"
)
HOOKS = ("forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks")

OF_TORCH = (
    # Modes and tensor subclasses of the program.
    Feature(
        "dispatch-mode",
        ("torch.utils._python_dispatch.TorchDispatchMode",),
        f"{NO_OPERATIONS}; dropout that goes on in evaluation is not noticed",
        ("replay.microscope.Microscope", "observe.probes.dropouts.Watch"),
    ),
    Feature(
        "dispatch-stack",
        (
            "torch._C._len_torch_dispatch_stack",
            "torch._C._pop_torch_dispatch_stack",
            "torch._C._push_on_torch_dispatch_stack",
        ),
        f"{NO_OPERATIONS}; a dispatch mode of the program's own sees what torchwhy computes",
        ("observe.torch_features.mode_stack.unseen", "observe.torch_features.mode_stack.put_on"),
    ),
    Feature(
        "function-stack",
        ("torch._C._len_torch_function_stack",),
        "numbers that the program reads in evaluation are not judged, and each step is checked the slower way",
        ("observe.guest.Guests.lightly", "observe.probes.reads.install"),
    ),
    Feature(
        "function-switch",
        ("torch._C.DisableTorchFunction",),
        "tensor subclasses and function modes of the program see what torchwhy asks of their tensors",
        ("observe.torch_features.mode_stack.unseen",),
    ),
    Feature(
        "mode-and-compiler",
        ("torch.utils._python_dispatch.TorchDispatchMode._should_skip_dynamo",),
        "the first look takes 1.6 s longer, because torch loads its compiler for it",
        ("observe.torch_features.mode_stack.DispatchMode",),
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
        "losses and backward passes go unseen: a bad loss is noticed by its gradients only, and nothing is said "
        "about the course of training",
        ("observe.probes.backward.install",),
    ),
    Feature(
        "backward-entry",
        ("torch.autograd.graph._engine_run_backward",),
        "code of the program that runs inside a backward pass is not told from the code that called it",
        ("observe.torch_features.autograd_nodes.backward_entry_code",),
    ),
    Feature(
        "backward-roots",
        ("torch.autograd._make_grads",),
        "a backward pass is looked at one operation longer",
        ("observe.torch_features.autograd_nodes.root_gradients_code",),
        only_time=True,
    ),
    Feature(
        "node-numbers",
        (
            "torch._C._autograd._get_sequence_nr",
            "torch._C._functions.AccumulateGrad._sequence_nr",
        ),
        f"{NO_OPERATIONS}; which forward pass a backward pass belongs to is not known",
        (
            "observe.torch_features.autograd_nodes.sequence_number",
            "observe.torch_features.autograd_nodes.node_sequence",
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
        "if a value that a backward pass needs was overwritten, the operation that needed it is not named",
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
        "batches go unseen: no sample is named, and a step with a bad value is not repeated in place, the whole "
        "program is run again",
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
        "of a batch it is not known which dataset it comes from, nor how long an epoch is",
        (
            "observe.torch_features.loader_parts.dataset_of",
            "observe.torch_features.loader_parts.fetches_by_itself",
        ),
    ),
    Feature(
        "loader-fetcher",
        (
            "torch.utils.data.dataloader._DatasetKind.create_fetcher",
            f"{ITERATOR}()._dataset_kind",
            f"{ITERATOR}()._auto_collation",
            f"{ITERATOR}()._drop_last",
        ),
        "a bad batch is not made once more to find the line of data code that spoilt it",
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
        "of samples that do not fit into one batch the index is not told",
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
        "a loader's worker that was spawned is watched as if it trained, which slows it down",
        ("observe.torch_features.loader_parts.leave_in_workers",),
    ),
    # Tensors.
    Feature(
        "versions",
        ("torch.Tensor._version",),
        "whether a tensor was changed in place is not known: gradients that nobody clears and parameters that "
        "nobody trains are not reported, and a step is not repeated in place",
        ("observe.torch_features.tensor_parts.version_of",),
    ),
    Feature(
        "memory",
        ("torch.UntypedStorage._cdata", "torch.multiprocessing.reductions.StorageWeakRef"),
        f"{NO_OPERATIONS}; tensors that share memory are not recognised",
        (
            "observe.torch_features.tensor_parts.storage_key",
            "observe.torch_features.tensor_parts.weak_storage",
        ),
    ),
    Feature(
        "zero-tensors",
        ("torch.Tensor._is_zerotensor",),
        "in forward-mode differentiation a probe of torchwhy may fail and be switched off",
        ("observe.torch_features.tensor_parts.has_values",),
    ),
    Feature(
        "transforms",
        (
            "torch._C._functorch.is_functorch_wrapped_tensor",
            "torch._C._functorch.maybe_current_level",
        ),
        "under torch.func transforms such as vmap a probe of torchwhy may fail and be switched off",
        (
            "observe.torch_features.tensor_parts.has_values",
            "observe.torch_features.tensor_parts.is_tracing",
        ),
    ),
    Feature(
        "sparse-values",
        ("torch.Tensor._values",),
        "sparse gradients are added up before they are looked at",
        ("observe.torch_features.tensor_parts.values_of_sparse",),
        only_time=True,
    ),
    Feature(
        "norms-together",
        ("torch._foreach_norm",),
        "weights are measured one by one",
        ("observe.torch_features.tensor_parts.norms_of",),
        only_time=True,
    ),
    Feature(
        "check-together",
        ("torch._amp_foreach_non_finite_check_and_unscale_",),
        "gradients are read one by one at every step",
        ("observe.gradients.Reading",),
        only_time=True,
    ),
    Feature(
        "tensor-exchange",
        ("torch.Tensor.__dlpack_c_exchange_api__", "C dlpack_exchange_api"),
        "the accelerator is not used: Python checks every step, some 40 µs more",
        ("observe.native.stands.is_ready",),
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
        "a traceback through a watched model shows torch's call of hooks, dropout that goes on in evaluation is not "
        "noticed, and of a layer that crashed the input is not known",
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
        "parameters are looked up the slow way",
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
        "no model is called for an experiment, because its hooks would notice; a traceback through a watched model "
        "shows torch's call of hooks",
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
        "layers and losses that are not torch's own classes, but derived from their base classes, are not recognised",
        ("observe.torch_features.module_parts.kinds_of",),
    ),
    Feature(
        "optimizer-birth",
        ("torch.optim.Optimizer._patch_step_function",),
        "an optimizer is seen from its first step on, and one that never makes a step is not seen at all",
        ("observe.session.Session._install_optimizer_hooks",),
    ),
    Feature(
        "loss-scale",
        ("torch.amp.GradScaler()._scale",),
        "under a GradScaler each step is checked the slower way",
        ("observe.torch_features.tensor_parts.scale_tensor",),
        only_time=True,
    ),
    Feature(
        "operator-schema",
        ("torch._ops.OpOverload()._schema", "torch._ops.OpOverload()._overloadname"),
        NO_OPERATIONS,
        (
            "observe.torch_features.torch_sources.schema_of",
            "observe.torch_features.torch_sources.overload_name",
        ),
    ),
    Feature(
        "script-builtins",
        ("torch.jit._builtins._get_builtin_table",),
        "`torch.isnan(loss)` and its like are not noticed, because `torch.jit.script` could not compile them if "
        "torchwhy did",
        ("observe.torch_features.torch_sources.introduce_to_script",),
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
        "in a traceback, frames of torch are not all recognised: a crash may be described less exactly",
        (
            "observe.torch_features.torch_sources.is_operations_file",
            "observe.torch_features.torch_sources.is_compiler_error",
        ),
    ),
)
