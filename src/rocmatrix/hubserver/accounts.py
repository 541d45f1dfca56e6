"""Who may do what: users, their tokens, organisations."""

from __future__ import annotations

import hmac
import time
from dataclasses import dataclass, field
from enum import StrEnum

from rocmatrix.hubserver.names import RepoName
from rocmatrix.hubserver.refusals import RefusalError


class Role(StrEnum):
    """What a token allows."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, kw_only=True)
class Organization:
    """A namespace that several users publish in.

    Attributes:
        name: its name.
        trusted: ``trustedKernelPublisher``: whether the client loads its kernels without being told to. Not by
            default, as most publishers meet it.
    """

    name: str
    trusted: bool = False


@dataclass(frozen=True, kw_only=True)
class User:
    """Somebody with a token.

    Attributes:
        name: name, and namespace of their own.
        token: the secret; never in a log, a message or a representation.
        role: what it allows.
        organizations: namespaces beside their own that it may write to.
        may_create_kernels: whether kernel repositories may be created; on the Hub that needs approval.
    """

    name: str
    token: str = field(repr=False)
    role: Role = Role.WRITE
    organizations: tuple[str, ...] = ()
    may_create_kernels: bool = True


@dataclass(frozen=True, kw_only=True)
class Grant:
    """A token for one repository and a short time, from trusted publishing.

    Attributes:
        token: the secret.
        repository: what it is for.
        expires: seconds since the epoch.
        subject: who asked, for whoami.
    """

    token: str = field(repr=False)
    repository: RepoName
    expires: float
    subject: str


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who sent a request: a user, a grant, or nobody."""

    user: User | None = None
    grant: Grant | None = None

    @property
    def name(self) -> str:
        """For logs and commits."""
        if self.user:
            return self.user.name
        return self.grant.subject if self.grant else "anonymous"

    @property
    def known(self) -> bool:
        """Whether a valid token came with the request."""
        return self.user is not None or self.grant is not None

    def may_write(self, repository: RepoName) -> bool:
        """Whether the caller may change a repository."""
        if self.grant:
            return self.grant.repository == repository
        user = self.user
        return user is not None and user.role is Role.WRITE and self._member(user, repository.namespace)

    def may_read(self, repository: RepoName, *, private: bool) -> bool:
        """Whether the caller may know of a repository."""
        if not private or (self.grant and self.grant.repository == repository):
            return True
        return self.user is not None and self._member(self.user, repository.namespace)

    @staticmethod
    def _member(user: User, namespace: str) -> bool:
        return namespace == user.name or namespace in user.organizations


class Accounts:
    """All users, organisations and grants of a server."""

    def __init__(self, users: tuple[User, ...], organizations: tuple[Organization, ...] = ()) -> None:
        """Keep them; an organisation that only a user names exists too, and is not trusted."""
        self._users = users
        named = {name: Organization(name=name) for user in users for name in user.organizations}
        self.organizations = {**named, **{each.name: each for each in organizations}}
        self._grants: list[Grant] = []

    def caller(self, token: str | None) -> Caller:
        """Return who holds a token.

        Raises:
            RefusalError: 401, if there is a token and nobody holds it.
        """
        if token is None:
            return Caller()
        for user in self._users:
            if hmac.compare_digest(user.token.encode(), token.encode()):
                return Caller(user=user)
        for grant in self._grants:
            if hmac.compare_digest(grant.token.encode(), token.encode()) and grant.expires > time.time():
                return Caller(grant=grant)
        raise RefusalError(401, "Invalid credentials in Authorization header")

    def add_grant(self, grant: Grant) -> None:
        """Accept a new short-lived token, and forget those that have expired."""
        now = time.time()
        self._grants = [*(each for each in self._grants if each.expires > now), grant]
