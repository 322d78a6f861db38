"""`hashrange up` on a directory of the release before: keys and messages are moved before it serves."""

import httpx

import hashrange
from systems.tests.aura.former_release import make_former_directory
from tests.e2e.test_up import UpProcess


def test_a_directory_of_the_release_before_has_its_keys_and_messages_when_it_is_served(tmp_path):
    directory = tmp_path / "here"
    former = make_former_directory(directory)
    for start in (1, 2):
        upped = UpProcess(
            tmp_path, "--only", "aura", "--data", str(directory), environment={"PYTHONPATH": "", "AURA_WORKERS": "0"}
        )
        try:
            for text in (*former["apiKeys"]["ann"], *former["apiKeys"]["bob"]):
                headers = {"Authorization": f"Bearer {text}"}
                answer = httpx.get(f"{upped.web}/aura/api/watches", headers=headers, timeout=60)
                assert answer.status_code == 200, (start, answer.text)
                signed_in = httpx.post(f"{upped.web}/aura/sign-in", data={"key": text}, timeout=60)
                assert signed_in.status_code == 303, (start, signed_in.text)
            assert upped.stop() == 0
            assert "Traceback" not in upped.logged
        finally:
            upped.kill()
    with hashrange.open(directory) as database:
        items = database.call("Scan", {"TableName": "aura-historia-accounts"})["Items"]
    states = [item["delivery"]["S"] for item in items if "delivery" in item]
    assert sorted(states) == ["SENT", "SENT", "UNDELIVERABLE", "WAITING", "WAITING", "WAITING"]
