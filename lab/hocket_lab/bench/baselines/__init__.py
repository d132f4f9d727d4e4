"""The paper's baselines that no daemon of ours should offer: they live in the benchmark alone."""
