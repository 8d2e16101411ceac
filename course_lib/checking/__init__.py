"""How an answer is judged: a bundle runs in a sandbox, what it did becomes an outcome, and stages find what is wrong in it."""
