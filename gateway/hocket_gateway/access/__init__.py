"""Who is let in: keys of people, names of hosts, and users of this machine."""
