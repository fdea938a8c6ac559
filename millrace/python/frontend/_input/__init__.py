"""Input of training programs: queues that threads fill, and batches taken from them."""
