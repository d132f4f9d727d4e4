"""DiSCo: who sings first, and who goes on: costs, budgets, profiles, policies and migration."""
