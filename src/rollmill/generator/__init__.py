"""Generated sources of the real seeds' shapes and sizes, cards included. The same options and seed give the same bytes.

The texts are put together from banks of invented sentences. What is taken from the real datasets is their form: column
order and types, row and byte counts, file and row group sizes, how often prompts repeat, how steps chain. Each
`write_…` has a `plan_…` that takes the same options, writes nothing, and says what will be written and where the
faults that were asked for will be.
"""

from rollmill.generator.act_prm import ACT_PRM_ROLLOUTS, ACT_PRM_STEPS, ActPrmPlan, plan_act_prm
from rollmill.generator.act_prm_files import write_act_prm
from rollmill.generator.faults import Fault
from rollmill.generator.ppo_critic import PPO_CRITIC_BYTES, PPO_CRITIC_SPLITS, PpoCriticPlan, PpoSplit, plan_ppo_critic
from rollmill.generator.ppo_critic_files import write_ppo_critic
from rollmill.generator.prompt_response import (
    PROMPT_RESPONSE_BYTES,
    PROMPT_RESPONSE_ROWS,
    PromptResponsePlan,
    plan_prompt_response,
    prompt_response_batches,
    write_prompt_response,
)

__all__ = [
    "ACT_PRM_ROLLOUTS",
    "ACT_PRM_STEPS",
    "PPO_CRITIC_BYTES",
    "PPO_CRITIC_SPLITS",
    "PROMPT_RESPONSE_BYTES",
    "PROMPT_RESPONSE_ROWS",
    "ActPrmPlan",
    "Fault",
    "PpoCriticPlan",
    "PpoSplit",
    "PromptResponsePlan",
    "plan_act_prm",
    "plan_ppo_critic",
    "plan_prompt_response",
    "prompt_response_batches",
    "write_act_prm",
    "write_ppo_critic",
    "write_prompt_response",
]
