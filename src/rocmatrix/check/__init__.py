"""The check stage: are the numbers right, and what computed them."""
