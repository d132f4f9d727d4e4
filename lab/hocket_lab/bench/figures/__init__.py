"""The DRAGON paper's figures, one file each; frame.py runs any of them."""
