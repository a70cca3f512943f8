"""python -m plots COMMAND …"""

from shared.commands import call

call("plots")
