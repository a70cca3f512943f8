"""What grows with a corpus and with the number of workers: weights, bytes, and the work of who hands out texts."""
