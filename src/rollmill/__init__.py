"""Rollmill: RL-for-LLM rollout datasets of any shape in, one verified, versioned, unified dataset out."""
