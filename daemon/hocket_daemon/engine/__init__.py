"""A causal language model as a service: weights, KV slots, forward passes."""
