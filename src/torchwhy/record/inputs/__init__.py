"""Events about what goes into training: loaders, samplers, datasets."""
