"""Which hosts a program may come from."""

import ipaddress
import socket
import threading
from typing import TypeAlias

from sluice.jobs.programs.patience import Patience
from sluice.jobs.programs.unfit import Away, Unfit, reason_of

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
#: What Python takes for public, in one version or another, and nobody reaches from elsewhere: sites of IPv6, protocols
#: (a cloud tells its machines their secrets there), and examples. Azure's host is at 168.63.129.16; relays of 6to4 were
#: at 192.88.99.0/24; 2001:20::/28 are identifiers, which are not routed.
_INNER = tuple(
    map(
        ipaddress.ip_network,
        ("fec0::/10", "3fff::/20", "192.0.0.0/24", "168.63.129.16/32", "192.88.99.0/24", "2001:20::/28"),
    )
)
#: The first half of the interface of an ISATAP address, of which the second is an address of IPv4.
_ISATAP = (0x00005EFE, 0x02005EFE)


def is_named(host: str, hosts: tuple[str, ...]) -> bool:
    """Whether the settings name the host as the source does, so that it may be any address."""
    named = {each.strip("[]").rstrip(".").lower() for each in hosts}
    return "*" in named or host.strip("[]").rstrip(".").lower() in named


def check_address(host: str, text: str, hosts: tuple[str, ...]) -> None:
    """Unfit where the address is not of the public internet and the settings do not name the host. The message does not
    have the address: a submitter could read inner addresses of any name from it."""
    if not is_named(host, hosts) and not is_public(text):
        raise Unfit(
            f"the address of the host {host} is not an address of the public internet; "
            "SLUICE_PROGRAM_HOSTS can allow the host"
        )


def is_public(text: str) -> bool:
    """Whether everybody reaches this address: none of this machine, of its link or of a private network."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return all(map(_is_public, _faces(address)))


def _is_public(address: Address) -> bool:
    special = address.is_multicast or address.is_reserved or any(address in each for each in _INNER)
    return address.is_global and not special


def _faces(address: Address) -> list[Address]:
    """The address, and those of IPv4 that an address of IPv6 may lead to."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64 or address in _COMPATIBLE or int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    found: list[Address] = [each for each in inner if each is not None]
    # A mapped address is nothing but the IPv4 address, whatever is said of the block that maps it.
    return found if address.ipv4_mapped is not None or address in _NAT64 else [address, *found]


def addresses_of(host: str, port: int, hosts: tuple[str, ...], patience: Patience) -> list[tuple[int, str]]:
    """Family and address of all that the host resolves to; Unfit where one of them may not be reached.

    The system's resolver knows no limit and cannot be interrupted, so a thread of its own waits for it.
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
        why = reason_of(failed[0]) if isinstance(failed[0], OSError) else "it is no name of a host"
        raise Away(f"the host {host} cannot be resolved: {why}")
    for _, text in found:
        check_address(host, text, hosts)
    return list(dict.fromkeys(found))
