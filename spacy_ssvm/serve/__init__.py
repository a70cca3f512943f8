"""A pipeline that one person sees, asks and teaches: a session on the disk, its interface over HTTP, and a page."""
