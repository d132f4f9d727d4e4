Settings = run = None
