# SPDX-License-Identifier: Apache-2.0
"""A holder that was frozen past its deadline cannot hurt the next one."""
import signal
import time

import pytest

from client import not_held, refused
from remote import Remote


@pytest.mark.parametrize("round_", range(3))
def test_B03_a_paused_holder_returns_and_harms_nobody(server, client, key, round_):
    with Remote(server.address) as paused:
        assert paused.do("acquire", key=key, ttl=1, lease="h")["ok"]
        renew = paused.send("renew", lease="h", ttl=60, after=0.3)
        release = paused.send("release", lease="h", after=0.4)
        paused.signal(signal.SIGSTOP)
        second = client.acquire(key, ttl=60, wait=10)
        time.sleep(0.5 * round_)
        paused.signal(signal.SIGCONT)
        for ident in (renew, release):
            answer = paused.wait(ident)
            assert (answer["ok"], answer["reason"]) == (False, "NOT_HOLDER"), answer
        assert client.holder(key) == second.holder_id
        client.renew(second)
        assert client.release(second) is True


def test_B03_the_right_holder_with_a_wrong_name_releases_nothing(client, key):
    handle = client.acquire(key)
    assert client.release(handle, key=key + "x") is False
    assert client.release(handle, namespace="other") is False
    with not_held():
        client.renew(handle, key=key + "x")
    with not_held():
        client.renew(handle, namespace="other")
    assert client.holder(key) == handle.holder_id


@pytest.mark.parametrize("change", ["upper", "35", "37", "1 MB", "braces", "no dashes"])
def test_B03_the_right_holder_misspelt_releases_nothing(client, key, change):
    handle = client.acquire(key)
    text = handle.holder_id
    wrong = {"upper": "A" + text[1:].upper(), "35": text[:35], "37": text + "0",
             "1 MB": text * 30000, "braces": "{" + text + "}",
             "no dashes": text.replace("-", "")}[change]
    with not_held():
        client.release(handle, holder=wrong)
    with not_held():
        client.renew(handle, holder=wrong)
    assert client.holder(key) == text


def test_B03_an_empty_holder_releases_nothing(client, key):
    handle = client.acquire(key)
    with refused("INVALID_ARGUMENT", "key and holder_id required"):
        client.release(handle, holder="")
    assert client.holder(key) == handle.holder_id
