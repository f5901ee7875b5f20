"""Checks which addresses are taken, before a client meets them."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from ray_gym.engines.endpoint import EndpointOptions
from ray_gym.envs.nemo_gym.environment import NemoOptions
from ray_gym.mcp.options import McpServer
from ray_gym.web_addresses import split_address

BAD = {
    "escape": "http://host:8000/\x1b[31mv1",
    "line break": "http://ho\nst:8000/v1",
    "tab": "http://host:8000/\tv1",
    "return": "http://host\r:8000/v1",
    "direction": "http://host:8000/\u202ev1",
    "space": "http://host:8000/v 1",
    "nothing": " ",
    "no scheme": "host:8000/v1",
    "other scheme": "ftp://host/v1",
    "no port": "http://host:0/v1",
    "word for a port": "http://host:port/v1",
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_address_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=r"is not an address like http://a/v1$") as refused:
        split_address(BAD[name], "http://a/v1")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("options", [EndpointOptions, NemoOptions, McpServer])
@pytest.mark.parametrize("name", BAD)
def test_every_address_of_a_config_is_checked(options: type[BaseModel], name: str) -> None:
    field = "url" if options is McpServer else "base_url"
    given = {field: BAD[name], "model": "small"} if options is EndpointOptions else {field: BAD[name]}
    with pytest.raises(ValidationError, match="is not an address like") as refused:
        options.model_validate(given)
    assert refused.value.errors()[0]["loc"] == (field,)


@pytest.mark.parametrize("end", ["\r", "\n", " ", "\r\n"])
def test_the_end_of_a_line_is_no_part_of_an_address(end: str) -> None:
    """A variable from a file with Windows' ends of lines has one."""
    assert EndpointOptions(base_url=f"http://h:1/v1{end}", model="m").base_url == "http://h:1/v1"
    assert NemoOptions(base_url=f" http://h:1{end}").base_url == "http://h:1"
    assert McpServer(url=f"http://h:1/mcp{end}").url == "http://h:1/mcp"


@pytest.mark.parametrize("address", ["http://me:s3cr3t@h:99999/v1", "http://me:s3 cr3t@h/v1", "ftp://me:s3cr3t@h/v1"])
@pytest.mark.parametrize("options", [EndpointOptions, NemoOptions, McpServer])
def test_an_address_that_may_hold_a_password_is_not_shown(options: type[BaseModel], address: str) -> None:
    field = "url" if options is McpServer else "base_url"
    with pytest.raises(ValidationError, match="this is not an address like") as refused:
        options.model_validate({field: address, "model": "m"} if options is EndpointOptions else {field: address})
    assert "cr3t" not in refused.value.errors()[0]["msg"]


def test_a_host_that_can_not_be_is_told() -> None:
    with pytest.raises(ValueError, match="no host can have that name"):
        split_address(f"http://{'a' * 64}.com/v1", "http://a/v1")
