"""Compare two settings on the same seeds, and say whether the difference is real."""

import airpath

reno = airpath.load("jayanathan-46")
limited = reno.with_("tcp.limited_transmit", True)
compared = airpath.compare_paired(limited, reno, "transfer_s", precision=0.05)
low, high = compared.difference.ci_low, compared.difference.ci_high
print(f"limited transmit: {compared.difference.mean:.1f} s ({low:.1f} to {high:.1f}) of transfer time")
print("a real difference" if compared.is_different else "no difference seen")
