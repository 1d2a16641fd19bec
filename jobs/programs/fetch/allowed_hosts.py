"""Hosts from which programs may be fetched."""

import ipaddress
import socket
import threading
from typing import TypeAlias

from sluice.jobs.programs.errors import Away, Unfit, reason_of
from sluice.jobs.programs.fetch.download import Patience

#: Setting that allows hosts from which programs are fetched.
PROGRAM_HOSTS = "SLUICE_PROGRAM_HOSTS"

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
#: Networks that some version of Python counts as public although they cannot be reached from elsewhere: IPv6 site-local
#: addresses, protocol assignments (a cloud serves secrets to its machines there), and examples. 168.63.129.16 is
#: Azure's host; 192.88.99.0/24 was used for 6to4 relays; 2001:20::/28 are identifiers, which are not routed.
_INNER = tuple(
    map(
        ipaddress.ip_network,
        ("fec0::/10", "3fff::/20", "192.0.0.0/24", "168.63.129.16/32", "192.88.99.0/24", "2001:20::/28"),
    )
)
#: First half of the interface part of an ISATAP address. The second half is an IPv4 address.
_ISATAP = (0x00005EFE, 0x02005EFE)


def is_named(host: str, hosts: tuple[str, ...]) -> bool:
    """Return whether the settings name the source's host, so that it may have any address."""
    named = {each.strip("[]").rstrip(".").lower() for each in hosts}
    return "*" in named or host.strip("[]").rstrip(".").lower() in named


def check_address(host: str, text: str, hosts: tuple[str, ...], setting: str = PROGRAM_HOSTS) -> None:
    """Check that an address is on the public internet, or that the ``setting`` with these hosts names the host.
    Otherwise Unfit.

    The message does not contain the address: a submitter could use it to find out inner addresses of any name.
    """
    if not is_named(host, hosts) and not is_public(text):
        raise Unfit(
            f"the address of the host {host} is not an address of the public internet; "
            f"to allow the host, add it to {setting}"
        )


def is_public(text: str) -> bool:
    """Return whether the address is public: not of this machine, its link or a private network."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return all(map(_is_public, _faces(address)))


def _is_public(address: Address) -> bool:
    special = address.is_multicast or address.is_reserved or any(address in each for each in _INNER)
    return address.is_global and not special


def _faces(address: Address) -> list[Address]:
    """Return the address, and the IPv4 addresses to which an IPv6 address may lead."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64 or address in _COMPATIBLE or int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    found: list[Address] = [each for each in inner if each is not None]
    # A mapped address is exactly its IPv4 address, regardless of the rules for the block that maps it.
    return found if address.ipv4_mapped is not None or address in _NAT64 else [address, *found]


def addresses_of(
    host: str, port: int, hosts: tuple[str, ...], patience: Patience, setting: str = PROGRAM_HOSTS
) -> list[tuple[int, str]]:
    """Return the family and address of each address of the host. Unfit if any of them is not allowed.

    The system's resolver has no timeout and cannot be interrupted, so a separate thread waits for it.
    """
    found: list[tuple[int, str]] = []
    failed: list[OSError | UnicodeError] = []

    def resolve() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            failed.append(error)
        else:
            found.extend((family, str(address[0])) for family, _, _, _, address in answers)

    resolver = threading.Thread(target=resolve, name="sluice-resolver", daemon=True)
    resolver.start()
    while resolver.is_alive():
        resolver.join(patience.look_s())
    if failed:
        why = reason_of(failed[0]) if isinstance(failed[0], OSError) else "it is no valid host name"
        raise Away(f"the host {host} cannot be resolved: {why}")
    for _, text in found:
        check_address(host, text, hosts, setting)
    return list(dict.fromkeys(found))
