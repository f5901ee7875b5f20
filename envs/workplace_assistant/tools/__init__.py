"""Collects the 27 tools, a file for each of the six areas."""

from ray_gym.envs.workplace_assistant.tools.analytics import AnalyticsTools
from ray_gym.envs.workplace_assistant.tools.calendar import CalendarTools
from ray_gym.envs.workplace_assistant.tools.customers import CustomerRelationsTools
from ray_gym.envs.workplace_assistant.tools.directory import DirectoryTools
from ray_gym.envs.workplace_assistant.tools.email import EmailTools
from ray_gym.envs.workplace_assistant.tools.projects import ProjectTools

__all__ = ["Toolbox"]


class Toolbox(CustomerRelationsTools, ProjectTools, AnalyticsTools, CalendarTools, EmailTools, DirectoryTools):
    """Adds all tools to the environment. The tools of the last base come first in prompts."""
