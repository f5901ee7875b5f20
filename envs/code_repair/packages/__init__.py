"""Lists the sorts of packages that tasks are made of."""

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Drawn, Probe
from ray_gym.envs.code_repair.packages.caching import CACHING
from ray_gym.envs.code_repair.packages.digits import DIGITS
from ray_gym.envs.code_repair.packages.formulas import FORMULAS
from ray_gym.envs.code_repair.packages.gridwalk import GRIDWALK
from ray_gym.envs.code_repair.packages.ledger import LEDGER
from ray_gym.envs.code_repair.packages.ranking import RANKING
from ray_gym.envs.code_repair.packages.recipes import RECIPES
from ray_gym.envs.code_repair.packages.records import RECORDS
from ray_gym.envs.code_repair.packages.routes import ROUTES
from ray_gym.envs.code_repair.packages.stock import STOCK
from ray_gym.envs.code_repair.packages.timetable import TIMETABLE
from ray_gym.envs.code_repair.packages.versions import VERSIONS
from ray_gym.envs.code_repair.packages.wrapping import WRAPPING

BLUEPRINTS = (
    CACHING, DIGITS, FORMULAS, GRIDWALK, LEDGER, RANKING, RECIPES, RECORDS, ROUTES, STOCK, TIMETABLE, VERSIONS, WRAPPING,
)  # fmt: skip

__all__ = ["BLUEPRINTS", "Blueprint", "Drawn", "Probe"]
