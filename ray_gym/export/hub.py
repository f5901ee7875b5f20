"""Puts a written export into a data set repository of the Hugging Face hub, as one Parquet file that `datasets` reads.

The file goes as it was written: nothing is encoded anew, so that columns of JSON keep their type.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ray_gym.errors import UserError
from ray_gym.export.form import FORM, Form, find_form
from ray_gym.installed.extras import require
from ray_gym.plugins import names

if TYPE_CHECKING:
    from huggingface_hub import HfApi

TOKEN = "HF_TOKEN"
"""Environment variable with the hub's token, which is read nowhere else, and never written or printed."""
OPTION = "--push-to-hub"
PATH = "data/train-00000-of-00001.parquet"
"""Path in the repository, which `datasets` takes for the split `train`."""


@dataclass(frozen=True)
class Push:
    """Says where on the hub a file goes."""

    repo: str
    """Name of the repository: `NAME` or `OWNER/NAME`."""
    public: bool = False
    """True to let it be public; else a new one is private, and one that is public is refused."""
    overwrite: bool = False
    """True to replace the file of an earlier push."""

    def check(self, name: str, form: type[Form]) -> None:
        """Checks all that can be checked before there is a file, also on the hub. `name`: name of the form. Errors:
        UserError for a form that is no data set, a missing package or token, or a repository that may not be written
        to.
        """
        if form.schema is None:
            sets = ", ".join(one for one in names(FORM) if find_form(one, None).schema is not None)
            raise UserError(f"{OPTION}: {name} is no data set of Parquet; these are: {sets}")
        require("huggingface_hub", "hub", OPTION)
        if not os.environ.get(TOKEN):
            raise UserError(f"{OPTION}: the environment variable {TOKEN} is not set; it has the hub's token")
        with self._api() as api:
            repo = self._full_name(api)
            if not api.repo_exists(repo, repo_type="dataset"):
                return
            if not self.public and not api.dataset_info(repo).private:
                raise UserError(f"{OPTION}: {repo} is public; --public lets it be, or name another")
            if not self.overwrite and api.file_exists(repo, PATH, repo_type="dataset"):
                raise UserError(f"{OPTION}: {repo} has a {PATH} already (--overwrite replaces it)")

    def send(self, file: Path) -> str:
        """Makes the repository if there is none, sends a file, and returns the repository's address. Errors: UserError
        if the hub refuses or can't be reached.
        """
        with self._api() as api:
            repo = self._full_name(api)
            made = api.create_repo(repo, repo_type="dataset", private=not self.public, exist_ok=True)
            api.upload_file(
                path_or_fileobj=file,
                path_in_repo=PATH,
                repo_id=repo,
                repo_type="dataset",
                commit_message="Export of a run of ray_gym",
            )
        return str(made)

    def _full_name(self, api: HfApi) -> str:
        """Returns the repository's name with its owner, who is the token's where none is named. This asks the hub, so a
        token that it does not know is found.
        """
        owner = api.whoami()["name"]
        return self.repo if "/" in self.repo else f"{owner}/{self.repo}"

    @contextmanager
    def _api(self) -> Iterator[HfApi]:
        """Gives the hub's client. Its errors in the block become a UserError without the token."""
        from huggingface_hub import HfApi

        token = os.environ.get(TOKEN, "")
        try:
            yield HfApi(token=token, endpoint=os.environ.get("HF_ENDPOINT"))
        except UserError:
            raise
        except Exception as error:  # its transport's errors are of no common class: they differ by version
            said = str(error).strip().splitlines()
            told = (said[0] if said else type(error).__name__).replace(token or "\0", "[redacted]")
            raise UserError(f"{OPTION}: {self.repo}: {told}") from None
