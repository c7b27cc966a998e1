"""What several papers take: a paper imports no other, so that a change in one leaves the runs of others."""
