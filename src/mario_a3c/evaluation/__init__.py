"""Episodes to results: what an agent really can do, in numbers and in pictures."""
