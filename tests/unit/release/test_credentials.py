"""A credential is shown to the Hub that it is for, and to no other."""

from pathlib import Path

import pytest
from huggingface_hub import constants

from rocmatrix.errors import ReleaseError
from rocmatrix.release.credentials import SECRETS, find_credential, find_git_credential

OTHER = "https://hub.example.org"
LOGIN, NAMED = "hf_login", "hf_named"


@pytest.fixture(autouse=True)
def _logged_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*SECRETS, "HF_OIDC_RESOURCE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "token").write_text(LOGIN)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))


def test_a_login_is_for_the_hub_of_the_client_alone() -> None:
    assert find_credential(f"{constants.ENDPOINT}/").token == LOGIN
    with pytest.raises(ReleaseError, match=f"no credential for {OTHER}"):
        find_credential(OTHER)


def test_a_variable_is_for_the_hub_that_is_named_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", NAMED)
    found = find_credential(OTHER)
    assert (found.token, found.source) == (NAMED, "HF_TOKEN")


def test_git_gets_the_token_of_the_api_at_the_same_address_alone() -> None:
    assert find_git_credential(f"{constants.ENDPOINT}/kernels").token == LOGIN
    for address in (OTHER, constants.ENDPOINT.replace("https://", "http://") + "/kernels"):
        with pytest.raises(ReleaseError, match="no credential for"):
            find_git_credential(address)
