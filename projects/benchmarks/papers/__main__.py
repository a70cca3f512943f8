"""python -m papers COMMAND …"""

from shared.commands import call

call("papers")
