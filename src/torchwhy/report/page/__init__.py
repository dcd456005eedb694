"""The page: one HTML file about one run. Data first (`page_model`), then charts, then the template."""
