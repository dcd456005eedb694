"""One report model and its renderers, independent of torch and of how the findings were made."""
