"""The environment of a repeated run: trackers stay off the network, tests load edited files, the program can ask."""

from __future__ import annotations

import os
from pathlib import Path

TRIAL_VARIABLE = "TORCHWHY_TRIAL"
OFF = {
    "WANDB_MODE": "disabled",
    "COMET_MODE": "disabled",
    "NEPTUNE_MODE": "debug",
    "CLEARML_OFFLINE_MODE": "1",
    "SWANLAB_MODE": "disabled",
    "DISABLE_MLFLOW_INTEGRATION": "TRUE",
}


def repeated_environment(scratch: Path) -> dict[str, str]:
    """Return the variables to set in a run that repeats the program; MLflow writes into the scratch folder."""
    mlflow = (scratch / "mlflow").as_uri()
    options = os.environ.get("PYTEST_ADDOPTS", "")
    return {
        TRIAL_VARIABLE: "1",
        **OFF,
        "MLFLOW_TRACKING_URI": mlflow,
        "MLFLOW_REGISTRY_URI": mlflow,
        # To rewrite its assertions, pytest reads a test file itself, past the edited copy.
        "PYTEST_ADDOPTS": f"{options} --assert=plain".lstrip(),
    }
