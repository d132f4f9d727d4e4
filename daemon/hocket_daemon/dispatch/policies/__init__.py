"""Policies, costs and accounts that decide who writes (DiSCo §4)."""
