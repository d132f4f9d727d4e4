"""Access control: keys of people, names of hosts, and users of this machine."""
