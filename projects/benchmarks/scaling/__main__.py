"""python -m scaling COMMAND …"""

from shared.commands import call

call("scaling")
