"""python -m accuracy COMMAND …"""

from shared.commands import call

call("accuracy")
