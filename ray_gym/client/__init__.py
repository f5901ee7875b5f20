"""Gives programs access to `ray-gym serve`: by `Client`, and by `AsyncClient` for asyncio."""

from ray_gym.client.asynchronous import AsyncClient, AsyncSession
from ray_gym.client.errors import ServiceError
from ray_gym.client.retries import Patience
from ray_gym.client.synchronous import Client, Session
from ray_gym.openai_api.sampling import SamplingChange
from ray_gym.service.api import ParticipantChange, RolloutRequest, SessionRequest

__all__ = [
    "AsyncClient",
    "AsyncSession",
    "Client",
    "ParticipantChange",
    "Patience",
    "RolloutRequest",
    "SamplingChange",
    "ServiceError",
    "Session",
    "SessionRequest",
]
