"""Work that processes and machines share."""
