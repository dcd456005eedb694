"""What several ranks show together: each alone looks healthy."""
