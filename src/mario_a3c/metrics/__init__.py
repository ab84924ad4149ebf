"""What a run writes about itself, and how it is read again."""
