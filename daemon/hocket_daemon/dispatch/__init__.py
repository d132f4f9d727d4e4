"""DiSCo: whichever side is faster or cheaper writes, and hands over to the other one."""
