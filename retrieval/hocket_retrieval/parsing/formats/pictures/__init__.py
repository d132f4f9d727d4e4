"""Text recognised in pictures, by themselves or inside files."""
