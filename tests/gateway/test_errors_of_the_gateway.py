"""Checks that every exception is answered in one shape, and tells nothing that it should not."""

from __future__ import annotations

import logging

import pytest
from gateway_app import Item, client, make, problem
from ray.exceptions import ActorDiedError, ActorUnavailableError, GetTimeoutError, RayTaskError
from ray.serve.exceptions import BackPressureError

from ray_gym.deployments.gateway.guards.errors import MOST_PROBLEMS, refusal_of
from ray_gym.openai_api.refused import Refused, too_many_requests, unprocessable_content


async def test_what_is_refused_keeps_its_words_also_through_ray() -> None:
    async with client(make()) as http:
        response = await http.get("/v1/fail/refused")
        assert problem(response, 503) == {
            "message": "not now",
            "type": "server_error",
            "code": "unavailable",
            "param": None,
        }
        assert response.headers["retry-after"] == "2"
        found = problem(await http.get("/v1/fail/far"), 404)
        assert found["code"] == "unknown_rollout" and found["message"] == "there is no rollout 'x'"
        assert problem(await http.get("/v1/fail/late"), 504)["code"] == "timeout"


async def test_the_unforeseen_is_in_the_log_and_not_in_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    async with client(make()) as http:
        with caplog.at_level(logging.ERROR, "ray_gym.gateway"):
            response = await http.get("/v1/fail/badly", headers={"Idempotency-Key": "k"})
    found = problem(response, 500)
    assert "hunter2" not in response.text and "Traceback" not in response.text
    assert found["code"] == "internal_error" and response.headers["x-request-id"] in found["message"]
    assert response.headers["x-request-id"] in caplog.text and "hunter2" in caplog.text
    assert "alices-token" not in caplog.text


async def test_a_wrong_field_is_named_and_its_value_is_not_said_again() -> None:
    async with client(make()) as http:
        response = await http.post("/v1/items", json={"name": {"secret": "hunter2"}, "count": "hunter3"})
        found = problem(response, 422)
        assert found["param"] == "name" and found["type"] == "invalid_request_error"
        assert found["message"].splitlines()[0].startswith("name: ") and "\ncount: " in found["message"]
        assert "hunter" not in response.text
        told = problem(await http.post("/v1/items", json={"name": "x", "size": ["hunter2"]}), 422)["message"]
        assert [line.partition(": ")[0] for line in told.splitlines()] == ["size", "size.0"], "of a union, both"


async def test_paths_and_methods_that_are_not_there() -> None:
    async with client(make()) as http:
        assert problem(await http.get("/v1/nothing"), 404)["code"] == "not_found"
        problem(await http.get("/v1/who/"), 404)  # no redirect
        response = await http.delete("/v1/who")
        assert problem(response, 405)["code"] == "method_not_allowed" and response.headers["allow"] == "GET"
        response = await http.put("/v1/sessions/s-1")
        assert response.headers["allow"] == "DELETE, GET"  # of all routes with this path


def through_ray(cause: Exception) -> Exception:
    error: Exception = RayTaskError("method", "Traceback: secret", cause).as_instanceof_cause()
    return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (unprocessable_content("x", "y"), 422),
        (through_ray(too_many_requests("later", 3)), 429),
        (through_ray(through_ray(too_many_requests("later", 3))), 429),
        (ActorDiedError(), 503),
        (through_ray(ActorDiedError()), 503),
        (ActorUnavailableError("gone for now", None), 503),
        (BackPressureError(1, 1), 503),
        (GetTimeoutError(), 504),
        (TimeoutError(), 504),
    ],
)
def test_what_is_foreseen(error: Exception, status: int) -> None:
    refused = refusal_of(error)
    assert refused is not None and refused.status == status
    assert (refused.retry_after_s is not None) == (status in (429, 503))
    assert "secret" not in refused.message


def test_what_is_not_foreseen() -> None:
    assert refusal_of(ValueError("x")) is None and refusal_of(through_ray(ValueError("x"))) is None


async def test_many_problems_are_cut() -> None:
    from fastapi.exceptions import RequestValidationError
    from pydantic import ValidationError

    with pytest.raises(ValidationError) as caught:
        Item.model_validate({"name": "x", "more": {}, "count": "y"})
    problems = list(caught.value.errors()) * 30
    refused = refusal_of(RequestValidationError(problems))
    assert isinstance(refused, Refused)
    assert len(refused.message.splitlines()) == MOST_PROBLEMS + 1 and refused.message.endswith("and 22 more")
