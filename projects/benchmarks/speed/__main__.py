"""python -m speed COMMAND …"""

from shared.commands import call

call("speed")
