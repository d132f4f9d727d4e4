"""DiSCo: the choice of the side that begins and of the one that goes on: costs, budgets, profiles, policies, moves."""
