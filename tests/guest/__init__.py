"""Is torchwhy a good guest in the user's process? Programs run bare and watched, and compared."""
