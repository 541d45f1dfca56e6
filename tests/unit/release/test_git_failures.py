"""What git 2.39 and git-lfs 3.3 were heard to say, and what a release takes it for."""

import pytest

from rocmatrix.release.git_failures import Failure, read_failure

SAID = {
    "fatal: unable to access 'http://h/k/': The requested URL returned error: 503": Failure.TRANSIENT,
    "fatal: unable to access 'http://h/k/': The requested URL returned error: 429": Failure.TRANSIENT,
    "error: RPC failed; HTTP 500 curl 22 The requested URL returned error: 500": Failure.TRANSIENT,
    "fatal: unable to access 'http://h/k/': Recv failure: Connection reset by peer": Failure.TRANSIENT,
    "fatal: unable to access 'http://h/k/': Failed to connect to h port 9: Connection refused": Failure.TRANSIENT,
    "fatal: unable to access 'http://h/k/': Empty reply from server": Failure.TRANSIENT,
    "fatal: the remote end hung up unexpectedly": Failure.TRANSIENT,
    "batch response: Fatal error: Server error: http://h/k.git/info/lfs/objects/batch": Failure.TRANSIENT,
    "batch response: Unable to parse HTTP response for POST http://h: unexpected EOF": Failure.TRANSIENT,
    'Timeout: the command "git lfs push" did not complete in 15 secs.': Failure.TRANSIENT,
    "batch response: Authorization error: http://h/k.git/info/lfs/objects/batch": Failure.UNAUTHORIZED,
    "fatal: unable to access 'http://h/k/': The requested URL returned error: 403": Failure.UNAUTHORIZED,
    "fatal: Authentication failed for 'http://h/k/'": Failure.UNAUTHORIZED,
    "fatal: could not read Username for 'http://h': terminal prompts disabled": Failure.UNAUTHORIZED,
    "fatal: repository 'http://h/k/' not found": Failure.ABSENT,
    "fatal: unable to access 'http://h/k/': The requested URL returned error: 404": Failure.ABSENT,
    " ! [rejected]        v1.0.0 -> v1.0.0 (already exists)": Failure.MOVED,
    " ! [rejected]        c -> v1 (stale info)": Failure.MOVED,
    " ! [remote rejected] c -> v1 (cannot lock ref 'refs/heads/v1')": Failure.MOVED,
    " ! [remote rejected] c -> v1 (protected branch hook declined)": Failure.OTHER,
    "batch response: Client error &{%!!(string=http)}s(MISSING) from HTTP 413": Failure.OTHER,
    "fatal: unable to access 'http://h/k/': The requested URL returned error: 412": Failure.OTHER,
    "error: copy-fd: write returned: No space left on device": Failure.DISK,
    "remote: fatal: write error: No space left on device": Failure.OTHER,
    "": Failure.OTHER,
}


@pytest.mark.parametrize("said", SAID, ids=lambda said: said[:60])
def test_what_git_says_is_understood(said: str) -> None:
    assert read_failure(said).failure is SAID[said]


def test_a_sentence_has_what_tells_why_and_no_frame() -> None:
    said = (
        "\n  stderr: 'To http://h/k\n ! [rejected]        c -> v1 (stale info)\n"
        "error: failed to push some refs to 'http://h/k'\nhint: Updates were rejected'\n"
    )
    assert read_failure(said).sentence == "! [rejected] c -> v1 (stale info)"
    assert read_failure("\n  stderr: ''\n").sentence == "it did not say why"
    mangled = "batch response: Client error &{%!!(string=http) %!!(string=h)}s(MISSING) from HTTP 413"
    assert read_failure(mangled).sentence == "batch response: Client error of the server from HTTP 413"
