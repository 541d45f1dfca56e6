#!/bin/sh
# Runs as root, from /context: installs what pins/apt names and leaves nothing that a build does not need.
set -eux

# Versions are pinned and signed by Debian, so lists of a frozen mirror are as good as fresh ones.
apt_get() {
  apt-get -o Acquire::Check-Valid-Until=false -o Acquire::Retries=2 -o Acquire::Languages=none \
    -o APT::Install-Recommends=false -o APT::Sandbox::User=root "$@"
}

# Manuals and translations are not unpacked at all; licences are.
cat >/etc/dpkg/dpkg.cfg.d/small <<'END'
path-exclude=/usr/share/doc/*
path-include=/usr/share/doc/*/copyright
path-exclude=/usr/share/man/*
path-exclude=/usr/share/info/*
path-exclude=/usr/share/locale/*
force-unsafe-io
END
apt_get update --error-on=any
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2046 # one word for each package
apt_get install --yes --allow-downgrades $(cat /context/apt)

useradd --uid 1000 --user-group --create-home --shell /bin/bash builder
apt_get clean
rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/* /tmp/* /context ~root/.[!.]*
rm -f /etc/dpkg/dpkg.cfg.d/small /var/lib/dpkg/*-old
# An ordinary user has no use for programs that make somebody root.
find / -xdev -type f -perm /6000 -exec chmod ug-s {} +
